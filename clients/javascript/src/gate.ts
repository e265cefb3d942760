/** Tools of the AI SDK 5, 6 and 7 that ask people before they run. */

import * as ai from "ai";
import { checkNames, checkNotEmpty, inputOf } from "./asking.js";
import { Desk } from "./desk.js";
import { inputToRun, withWords } from "./gating.js";
import type { GateOptions } from "./gating.js";
import { whole } from "./json.js";
import { Notes } from "./notes.js";
import type { ToModelOutput } from "./notes.js";
import type { CallResult } from "./results.js";
import { Runs } from "./runs.js";
import { formOf, Unfit } from "./schemas.js";
import type { ToolSchema } from "./schemas.js";

interface CallOptions {
  toolCallId: string;
  abortSignal?: AbortSignal;
}

type Execute = (input: unknown, options: CallOptions) => unknown;

/** What is used of a tool; the types of the three versions of the SDK differ. */
interface Tool {
  execute?: Execute;
  inputSchema?: unknown;
  toModelOutput?: ToModelOutput;
}

/**
 * Return the same tools, which ask people before they run, wait, run with the input that was approved, and report what
 * they did. A call that is not approved throws `NotApproved`, and the model reads its message. A call runs in one process:
 * another one waits for its result, and returns it. Throws TypeError if a tool could run unasked. A call whose input JSON does
 * not carry whole throws TypeError, too, and no one is asked: people would see another input than the one that runs.
 */
export function gate<TOOLS extends Readonly<Record<string, object>>>(tools: TOOLS, options: GateOptions = {}): TOOLS {
  checkNotEmpty(options.tools);
  const named = options.tools ?? Object.keys(tools);
  checkNames(named, Object.keys(tools));
  const runs = new Runs(options.desk ?? new Desk(), options.asked ?? {});
  const gated = named.map((name) => [name, gatedTool(name, tools[name] as Tool, runs, options)]);
  return { ...tools, ...Object.fromEntries(gated) };
}

function gatedTool(name: string, tool: Tool, runs: Runs, { threadId = "", agent = "" }: GateOptions): Tool {
  const execute = tool.execute?.bind(tool);
  if (!execute) {
    throw new TypeError(
      `The tool ${JSON.stringify(name)} has no execute function: it runs at the provider or in a client, where no one ` +
        "would be asked. Give the names of the tools to ask about, without this one.",
    );
  }
  const notes = new Notes(tool.toModelOutput?.bind(tool));
  async function* streamed(input: unknown, callOptions: CallOptions): AsyncGenerator<unknown> {
    const { toolCallId: id, abortSignal } = callOptions;
    const shown = whole(inputOf(input), "input");
    const given = inputOf(input) === input ? shown : shown.arguments;
    const schema = await formOf(schemaIn(tool), given);
    const call = await runs.approved({ name, id, input: shown, thread: threadId, agent, schema }, abortSignal);
    let output: unknown;
    if ("output" in call) {
      output = call.output;
      yield output;
    } else {
      let result: CallResult = { error: new Stopped("It was stopped before it returned, so it may have run in part.") };
      try {
        const made = execute!(await inputToRun(schemaIn(tool), given, call), callOptions);
        for await (const part of isStream(made) ? made : [made]) {
          output = part;
          yield output;
        }
        result = { output };
      } catch (error) {
        result = { error };
        throw error instanceof Unfit ? error : withWords(error, call.words);
      } finally {
        // Also if no one reads the rest of a stream.
        await call.end(result);
      }
    }
    const told = notes.add(id, output, call.words);
    if (told !== output) yield told;
  }
  // Not an async generator: AI SDK 5.0.0 knows none.
  const last: Execute = async (input, callOptions) => {
    let output: unknown;
    for await (const part of streamed(input, callOptions)) output = part;
    return output;
  };
  const copy = Object.assign(Object.create(Object.getPrototypeOf(tool)) as Tool, tool);
  return Object.assign(copy, {
    execute: isGenerator(tool.execute) ? streamed : last,
    toModelOutput: notes.toModelOutput,
  });
}

/** Return the schema of a tool, by the SDK. */
export function schemaIn(tool: { inputSchema?: unknown } | undefined): ToolSchema | undefined {
  return tool?.inputSchema ? ai.asSchema(tool.inputSchema as Parameters<typeof ai.asSchema>[0]) : undefined;
}

/** No one has read a streaming tool to its end. */
class Stopped extends Error {
  override name = "Stopped";
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function isGenerator(execute: unknown): boolean {
  return Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
}
