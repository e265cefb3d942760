/**
 * Mastra:
 *
 *     new Agent({ ..., tools: gate({ refund, look }, { tools: ["refund"] }) })
 */

import { Gate, told } from "./gating.js";
import type { GateOptions } from "./gating.js";
import { withNote } from "./model-output.js";
import type { ModelOutput } from "./model-output.js";
import { Halted } from "./outcome.js";
import { standardSchema } from "./schemas.js";

export type { GateOptions } from "./gating.js";

type Suspend = (payload: unknown, options?: unknown) => Promise<unknown>;

/** What is used of the context of a call. A tool of the AI SDK has the id of its call in the context itself. */
interface Context {
  runId?: string;
  toolCallId?: string;
  abortSignal?: AbortSignal;
  suspend?: Suspend;
  agent?: { toolCallId?: string; threadId?: string; suspend?: Suspend };
  workflow?: { runId?: string; suspend?: Suspend };
}

type Execute = (input: unknown, context?: Context) => unknown;

interface Tool {
  execute?: Execute;
  inputSchema?: unknown;
  suspendSchema?: unknown;
  toModelOutput?: (output: unknown) => unknown;
}

/** The output of a tool that has its own `toModelOutput`, with what the model has to know beside it. */
interface Noted {
  output: unknown;
  approval: string;
}

/**
 * Return the same tools, which ask people before they run, wait, run with the input that was approved, and report what they
 * did. A call that is not approved throws `NotApproved`, and the model reads its message; if the policy stops the run, the agent
 * is suspended. Throws TypeError if a tool could run unasked, or suspends itself.
 */
export function gate<TOOLS extends Readonly<Record<string, object>>>(tools: TOOLS, options: GateOptions = {}): TOOLS {
  const calls = new Gate(options);
  const gated = calls.names(Object.keys(tools)).map((name) => [name, gatedTool(name, tools[name] as Tool, calls)]);
  return { ...tools, ...Object.fromEntries(gated) };
}

function gatedTool(name: string, tool: Tool, calls: Gate): Tool {
  const run = tool.execute?.bind(tool);
  if (!run || tool.suspendSchema) {
    const why = run ? "suspends itself, so it would end before it has a result" : "has no execute function, so no one would be asked";
    throw new TypeError(`The tool ${JSON.stringify(name)} ${why}. Give the names of the tools to ask about, without this one.`);
  }
  const own = tool.toModelOutput?.bind(tool);
  const execute: Execute = async (input, context = {}) => {
    const { agent, workflow, abortSignal: signal } = context;
    const suspend = agent?.suspend;
    const id = agent?.toolCallId ?? context.toolCallId ?? "";
    const runId = context.runId ?? workflow?.runId ?? "";
    const call = { name, id, run: runId, group: runId, thread: agent?.threadId, input, signal };
    try {
      const ran = await calls.run({ ...call, schema: standardSchema(tool.inputSchema) }, async (approved) =>
        checked(await run(approved, withoutSuspend(name, context))),
      );
      return own && ran.words ? ({ output: ran.output, approval: ran.words } satisfies Noted) : told(ran);
    } catch (error) {
      // Mastra gives the model every error of a tool and goes on; only this stops the agent, and those that it works for.
      if (!(error instanceof Halted) || !suspend) throw error;
      await suspend({ halted: error.message });
      return undefined;
    }
  };
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)) as Tool, tool, { execute });
  return own ? Object.assign(copy, { toModelOutput: (output: unknown) => modelOutput(own, output) }) : copy;
}

async function modelOutput(own: (output: unknown) => unknown, output: unknown): Promise<unknown> {
  const isNoted = Object.keys(Object(output) as object).join() === "output,approval";
  if (!isNoted) return own(output);
  const noted = output as Noted;
  return withNote((await own(noted.output)) as ModelOutput, noted.approval);
}

/** Return an output; throw the error that Mastra returns in its place if the output or the request context does not fit. */
function checked(output: unknown): unknown {
  const { error, message, validationErrors } = Object(output ?? {}) as Record<string, unknown>;
  if (error === true && validationErrors) throw new Error(String(message));
  return output;
}

/** Mastra knows the context that it made again, so it is changed and not copied. */
function withoutSuspend(name: string, context: Context): Context {
  for (const place of [context, context.agent, context.workflow]) {
    if (!place?.suspend) continue;
    place.suspend = () => {
      throw new TypeError(`The tool ${JSON.stringify(name)} can't suspend itself while it waits for people. Use another tool for that.`);
    };
  }
  return context;
}
