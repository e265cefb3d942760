/** A tool call as a request, which all adapters share. */

import { digestOf } from "./crypto.js";
import type { Asked, DeskClient } from "./client.js";
import { Refused } from "./errors.js";
import type { Outcome } from "./outcome.js";
import { shortened } from "./text.js";

/** Characters; Pausepoint takes no longer ones. */
const MAX_CALL_ID = 200;
const MAX_TITLE = 200;

export type Input = Readonly<Record<string, unknown>>;

/** A call that waits for a person. `id` is the framework's own, `thread` its conversation, if it has one. */
export interface ToolCall {
  name: string;
  id: string;
  input: Input;
  thread: string;
  agent: string;
  /** The JSON Schema of the input, so that people change it in a form and can approve only what the tool takes. */
  schema?: Input | undefined;
}

/** Ask about a call and wait for the outcome. Throws Refused, Unreachable, or the reason of the signal. */
export async function askAbout(desk: DeskClient, call: ToolCall, asked: Asked, signal?: AbortSignal): Promise<Outcome> {
  const request = { ...(await fields(call)), ...asked, ...(signal ? { signal } : {}) };
  const title = shortened(`Run ${call.name}?`, MAX_TITLE);
  try {
    return await desk.awaitHuman(title, call.schema ? { responseSchema: call.schema, ...request } : request);
  } catch (error) {
    // Pausepoint cannot check every schema. Without one, the input is changed as JSON.
    if (!call.schema || asked.responseSchema || !isAbout("response_schema", error)) throw error;
    return desk.awaitHuman(title, request);
  }
}

async function fields(call: ToolCall): Promise<Asked> {
  const key = await keyOf(call);
  return {
    ...(call.thread ? { threadId: shortened(call.thread, 200) } : {}),
    ...(call.agent ? { agent: shortened(call.agent, 100) } : {}),
    toolName: call.name,
    ...(key ? { toolCallId: key } : {}),
    input: call.input,
  };
}

/**
 * Return what Pausepoint knows a call by. Models repeat ids in other conversations, so the thread is part of it. Empty
 * without an id: the thread alone would give every equal call in it the decision about the first.
 */
async function keyOf({ id, thread }: ToolCall): Promise<string> {
  if (!id) return "";
  const key = thread ? `${thread}:${id}` : id;
  return key.length <= MAX_CALL_ID ? key : digestOf(JSON.stringify([thread, id]));
}

/** Whether a call was refused because of this field. */
function isAbout(field: string, error: unknown): boolean {
  return error instanceof Refused && Object.hasOwn(Object(error.problem.errors ?? {}) as object, field);
}

/** Return the input of a call as Pausepoint takes it: an object. */
export function inputOf(value: unknown): Input {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Input) : { arguments: value };
}

/** Refuse an empty list of names: it may mean all tools or none, and none would run every tool unasked. Throws TypeError. */
export function checkNotEmpty(named: readonly string[] | undefined): void {
  if (named?.length !== 0) return;
  throw new TypeError(
    "`tools` is an empty list, so no one would be asked about any tool. Leave it out to ask about every tool, or name the tools.",
  );
}

/** Refuse names of tools that do not exist: what is not asked about would run. Throws TypeError. */
export function checkNames(named: readonly string[], existing: readonly string[]): void {
  const unknown = named.filter((name) => !existing.includes(name));
  if (unknown.length === 0) return;
  const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(", ");
  throw new TypeError(
    `No tool has the name ${quoted(unknown)}, so people would not be asked about it. ` +
      `The tools are: ${quoted(existing) || "none"}.`,
  );
}
