/** What the adapters share: a framework's tool call as a request, and a person's decision as words for a model. */

import { webCrypto } from "./crypto.js";
import type { Asked, Desk } from "./desk.js";
import { DeskError } from "./errors.js";
import type { Outcome } from "./outcome.js";

/** Characters; Pausepoint takes no longer ones. */
const MAX_CALL_ID = 200;
const MAX_TITLE = 200;
const MAX_ERROR = 2000;
/** Characters of an output that is reported; the rest is for the model only. So few hold fewer values than the limit. */
const MAX_OUTPUT = 19_900;
/** Deeper outputs are reported as text. */
const MAX_LEVELS = 60;

type Input = Readonly<Record<string, unknown>>;

/** A call that waits for a person. `id` is the framework's own, `thread` its conversation, if it has one. */
export interface ToolCall {
  name: string;
  id: string;
  input: Input;
  thread: string;
  agent: string;
}

/** The calls of one agent that people were asked about. */
export class Calls {
  /** What runs, by the id of the call. */
  readonly #approved = new Map<string, Outcome>();
  /** What was approved with changes and not called so yet. */
  readonly #changed: { name: string; outcome: Outcome }[] = [];

  constructor(
    readonly desk: Desk,
    readonly asked: Asked,
  ) {}

  /** Ask about a call; return what the model is told if it may not run, and else nothing. */
  async ask(call: ToolCall): Promise<{ refused: string; by: string | null }> {
    const made = this.#changed.findIndex(({ name, outcome }) => name === call.name && same(outcome.input, call.input));
    const [again] = made < 0 ? [] : this.#changed.splice(made, 1);
    const outcome =
      again?.outcome ?? (await this.desk.awaitHuman(title(call), { ...(await request(call)), ...this.asked }));
    const { by } = outcome;
    if (!outcome.approved) return { refused: refusal(outcome), by };
    if (outcome.edited && !again) {
      this.#changed.push({ name: call.name, outcome });
      return { refused: `${change(outcome)} It was not run. Make the call again with exactly this input.`, by };
    }
    this.#approved.set(call.id, outcome);
    return { refused: "", by };
  }

  /** Report what an approved call did. If that fails, log it: the call has run, and the agent needs its result. */
  async report(id: string, result: { output: unknown } | { error: unknown }): Promise<void> {
    const outcome = this.#approved.get(id);
    if (!outcome) return;
    this.#approved.delete(id);
    try {
      await this.desk.report(outcome, "error" in result ? { error: errorText(result.error) } : bounded(result.output));
    } catch (error) {
      if (!(error instanceof DeskError)) throw error;
      console.error(`The result of request ${outcome.requestId} could not be reported.`, error);
    }
  }
}

function title(call: ToolCall): string {
  return shortened(`Run ${call.name}?`, MAX_TITLE);
}

async function request(call: ToolCall): Promise<Asked> {
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
  if (key.length <= MAX_CALL_ID) return key;
  const digest = await (await webCrypto()).subtle.digest("SHA-256", new TextEncoder().encode(key));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function shortened(text: string, limit: number): string {
  // Half of a character that takes two units could not be stored.
  return text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/\p{Surrogate}$/u, "")}…`;
}

/** Return what a model is told about a call that was not approved. */
function refusal(outcome: Outcome): string {
  if (outcome.status === "expired") return "Nobody decided in time, so this call was not run.";
  if (outcome.status === "cancelled") return `This call was cancelled${words(outcome)} Do not repeat it.`;
  return `A person declined this call${words(outcome)} Do not repeat it.`;
}

/** Return what a model is told about a call that was approved with changes. */
function change(outcome: Outcome): string {
  return `A person changed the input of this call to ${JSON.stringify(outcome.input)}.`;
}

function words(outcome: Outcome): string {
  const comment = outcome.comment.trim();
  if (!comment) return ".";
  return /[.!?]$/.test(comment) ? `: ${comment}` : `: ${comment}.`;
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? cleaned(`${error.name}: ${error.message}`) : textOf(error);
  return shortened(text || "Error", MAX_ERROR);
}

/** Return an output as Pausepoint takes it: one that is too large, or no JSON that can be stored, is cleaned text. */
function bounded(output: unknown): { output: unknown } {
  let text: string;
  try {
    text = JSON.stringify(output) ?? "null";
  } catch {
    return { output: shortened(textOf(output), MAX_OUTPUT) };
  }
  const plain: unknown = JSON.parse(text);
  if (text.length <= MAX_OUTPUT && isStorable(plain)) return { output: plain };
  return { output: shortened(cleaned(typeof plain === "string" ? plain : text), MAX_OUTPUT) };
}

/** Whether Pausepoint can store a JSON value as it is. */
function isStorable(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value === "string") return cleaned(value) === value;
  if (typeof value === "number") {
    // From 1e21 on, JSON has an exponent, so that the server reads no integer.
    return !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21;
  }
  if (typeof value !== "object" || value === null) return true;
  const members = Object.entries(value);
  return levels > 0 && members.every(([name, item]) => isStorable(name) && isStorable(item, levels - 1));
}

function textOf(value: unknown): string {
  try {
    return cleaned(String(value));
  } catch (error) {
    // Such as of a value that contains itself too often.
    return `(${typeof value}: no text, because of ${error instanceof Error ? error.name : "an error"})`;
  }
}

/** Replace what no database can store: NUL, and halves of surrogate pairs. */
function cleaned(text: string): string {
  return text.replace(/[\0\p{Surrogate}]/gu, "\ufffd");
}

/** Whether two JSON values are the same, whatever the order of their fields. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && same((one as Input)[name], (other as Input)[name]))
  );
}
