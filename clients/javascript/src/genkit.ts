/**
 * Genkit:
 *
 *     ai.generate({ ..., tools: [refund, look], use: [gate({ tools: ["refund"], threadId })] })
 */

import { Gate, told } from "./gating.js";
import type { GateOptions } from "./gating.js";
import { Halted, NotApproved } from "./outcome.js";
import { standardSchema } from "./schemas.js";

export type { GateOptions } from "./gating.js";

interface Request {
  messages: readonly unknown[];
  tools?: readonly { name: string; inputSchema?: unknown }[] | undefined;
}

interface ToolRequestPart {
  toolRequest: { name: string; ref?: string | undefined; input?: unknown };
  metadata?: Record<string, unknown> | undefined;
}

interface ToolResponsePart {
  toolResponse: { name: string; ref?: string | undefined; output?: unknown };
}

// biome-ignore lint/suspicious/noExplicitAny: the options and responses of Genkit, which are passed on as they are
type Passed = any;
type Next<REQUEST, RESPONSE> = (request: REQUEST, options: Passed) => Promise<RESPONSE>;

/** The hooks of a middleware of Genkit, for one `generate`. */
interface Hooks {
  generate(envelope: Passed, options: Passed, next: Next<Passed, Passed>): Promise<Passed>;
  model(request: Passed, options: Passed, next: Next<Passed, Passed>): Promise<Passed>;
  tool(request: Passed, options: Passed, next: Next<Passed, Passed>): Promise<Passed>;
}

export interface Middleware {
  name: string;
  instantiate(this: void): Hooks;
}

/**
 * Return a middleware for `use`: tools ask people before they run, wait, run with the input that was approved, and report
 * what they did. The model reads why a call was not approved as its response; if the policy stops the run, `generate` throws
 * `Halted`. A name that no tool has throws TypeError, before the model is asked.
 */
export function gate(options: GateOptions = {}): Middleware {
  const calls = new Gate(options);
  // Genkit knows a middleware by its name.
  const name = `pausepoint-${Math.random().toString(36).slice(2)}`;
  return { name, instantiate: () => hooks(calls) };
}

function hooks(calls: Gate): Hooks {
  const group = {};
  let signal: AbortSignal | undefined;
  let place = 0;
  let tools: Request["tools"] = [];
  let before: Promise<unknown> = Promise.resolve();
  const gated = async (part: ToolRequestPart, options: unknown, next: Next<ToolRequestPart, ToolResponsePart>) => {
    const { name, ref = "", input } = part.toolRequest;
    const schema = standardSchema(tools?.find((tool) => tool.name === name)?.inputSchema);
    // Only within a conversation, a place names a call.
    const run = calls.options.threadId ? `${place}` : "";
    const call = { name, id: ref, run, group, input, schema, signal, repeatsIds: true };
    let made: ToolResponsePart | undefined;
    try {
      const ran = await calls.run(call, async (approved) => {
        made = await next({ ...part, toolRequest: { ...part.toolRequest, input: approved } }, options);
        return made?.toolResponse.output;
      });
      return { ...made, toolResponse: { name, ref: part.toolRequest.ref, ...made?.toolResponse, output: told(ran) } };
    } catch (error) {
      if (!(error instanceof NotApproved) || error instanceof Halted) throw error;
      return { toolResponse: { name, ref: part.toolRequest.ref, output: error.message } };
    }
  };
  const answered = async (
    part: ToolRequestPart,
    options: unknown,
    next: Next<ToolRequestPart, ToolResponsePart>,
    earlier: Promise<unknown>,
  ) => {
    const isGated = calls.options.tools?.includes(part.toolRequest.name) ?? true;
    try {
      const response = await (isGated ? gated(part, options, next) : next(part, options));
      await earlier;
      return response;
    } catch (error) {
      // Genkit ends at once and does not wait for the other calls of the message.
      calls.stop(group, error);
      throw interruptOf(error);
    }
  };
  const tool: Hooks["tool"] = (part: ToolRequestPart, options: unknown, next) => {
    const response = answered(part, options, next, before);
    // Genkit puts the responses in the order in which they come, and calls without ids have nothing else to tell them apart. It
    // has put one there as soon as nothing else is to be done.
    before = response.then(nextTask, nextTask);
    return response;
  };
  return {
    generate: (envelope: { request: Request }, options: { abortSignal?: AbortSignal }, next) => {
      signal = options.abortSignal;
      place = envelope.request.messages.length;
      return next(envelope, options);
    },
    model: (request: Request, options: unknown, next) => {
      tools = request.tools;
      calls.names((tools ?? []).map(({ name }) => name));
      return next(request, options);
    },
    tool,
  };
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Return the interrupt that a tool has thrown: Genkit knows it by its class. */
function interruptOf(error: unknown): unknown {
  const { cause } = Object(error) as { cause?: { name?: string } };
  return cause?.name === "ToolInterruptError" ? cause : error;
}
