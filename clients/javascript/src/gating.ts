/** Tools that a program wraps: they ask people before they run, run with what was approved, and report it. */

import { checkNames, checkNotEmpty, inputOf } from "./asking.js";
import type { Input, ToolCall } from "./asking.js";
import type { Asked } from "./client.js";
import { Desk } from "./desk.js";
import { NotUnderstood } from "./errors.js";
import { jsonOf, whole } from "./json.js";
import { Halted } from "./outcome.js";
import { Runs } from "./runs.js";
import type { Approved } from "./runs.js";
import { fitted, formOf, Unfit } from "./schemas.js";
import type { ToolSchema } from "./schemas.js";
import { same, textOf } from "./text.js";
import { change } from "./words.js";

export interface GateOptions {
  /** The names of the tools to ask about; without it, people are asked about every tool. An empty list is an error. */
  tools?: readonly string[];
  /** By default, one with `PAUSEPOINT_URL` and `PAUSEPOINT_KEY` of the environment. */
  desk?: Desk;
  /** The conversation. Without it, Pausepoint knows a call by the id that the model gave it. */
  threadId?: string;
  agent?: string;
  /** More fields of each request, such as `priority` or `timeout`. */
  asked?: Asked;
}

/** A call of a framework. Empty are an `id` that it did not give, and a `run` that it does not name. */
export interface FrameworkCall {
  name: string;
  id: string;
  /** The run of the framework: it repeats ids in other ones. */
  run: string;
  thread?: string | undefined;
  input: unknown;
  schema: ToolSchema | undefined;
  signal?: AbortSignal | undefined;
  /** What the calls of one run have in common, if the framework says it. */
  group?: unknown;
  /** Whether the framework gives calls of one run the same id: they then have a number, too. */
  repeatsIds?: boolean;
}

/** What a call returned, and what the model has to know beside it. */
export interface Ran {
  output: unknown;
  words: string;
}

/** The gate of the tools of one agent. */
export class Gate {
  readonly #runs: Runs;
  /** The calls that wait or run, by their run. */
  readonly #open = new Map<unknown, Set<AbortController>>();

  /** Throws TypeError if an empty list of tools is given, which would let every tool run unasked. */
  constructor(readonly options: GateOptions) {
    checkNotEmpty(options.tools);
    this.#runs = new Runs(options.desk ?? new Desk(), options.asked ?? {});
  }

  /** Return the names of the tools to ask about. Throws TypeError for a name that no tool has. */
  names(existing: readonly string[]): readonly string[] {
    const named = this.options.tools ?? existing;
    checkNames(named, existing);
    return named;
  }

  /**
   * Ask about a call, run it with the approved input, and report what it did. Throws as `Runs.approved`, what `run` throws,
   * and TypeError for an input that JSON does not carry whole: people would see another one than the one that runs.
   *
   * If the run has to stop, the other calls of it stop waiting, and do not run: some frameworks do not wait for them.
   */
  async run(call: FrameworkCall, run: (input: unknown) => unknown): Promise<Ran> {
    const own = new AbortController();
    const open = this.#open.get(call.group) ?? new Set<AbortController>();
    if (call.group) this.#open.set(call.group, open.add(own));
    const abort = (): void => own.abort(call.signal?.reason);
    if (call.signal?.aborted) abort();
    call.signal?.addEventListener("abort", abort);
    try {
      return await this.#run(call, run, own.signal);
    } catch (error) {
      if (error instanceof Halted) this.stop(call.group, error);
      throw error;
    } finally {
      call.signal?.removeEventListener("abort", abort);
      open.delete(own);
      if (open.size === 0) this.#open.delete(call.group);
    }
  }

  /** Let the calls of a run stop waiting: they throw this error. */
  stop(group: unknown, error: unknown): void {
    for (const call of this.#open.get(group) ?? []) call.abort(error);
  }

  async #run({ schema, ...call }: FrameworkCall, run: (input: unknown) => unknown, signal: AbortSignal): Promise<Ran> {
    const shown = whole(inputOf(call.input), "input");
    const input = inputOf(call.input) === call.input ? shown : shown.arguments;
    const approved = await this.#runs.approved(await this.#toolCall(call, shown, await formOf(schema, input)), signal);
    const { words } = approved;
    if ("output" in approved) return { output: approved.output, words };
    let output: unknown;
    try {
      await checkDigest(shown, approved);
      output = await run(await inputToRun(schema, input, approved));
    } catch (error) {
      await approved.end({ error });
      throw error instanceof Unfit ? error : withWords(error, words);
    }
    await approved.end({ output });
    return { output, words };
  }

  /**
   * The name of a call has its input, because frameworks and models give two calls one id. Without an id, it has a number, too;
   * without a run and a thread as well, each call asks.
   */
  async #toolCall(from: Omit<FrameworkCall, "schema">, input: Input, schema: Input | undefined): Promise<ToolCall> {
    const { name, id, run } = from;
    const thread = this.options.threadId ?? from.thread ?? "";
    const call = { name, input, thread, agent: this.options.agent ?? "", schema };
    if (!id && !run && !thread) return { ...call, id: "" };
    const counted = !id || from.repeatsIds;
    const content = counted
      ? await this.#runs.placeOf(JSON.stringify([thread, run, id, name]), input)
      : await this.#runs.nameOf(name, input);
    return { ...call, id: [run, id, content].filter(Boolean).join(":") };
  }
}

/** Throw NotUnderstood if the digest of an approval is that of another input than the one that runs. */
async function checkDigest(input: Input, { edited, outcome }: Approved): Promise<void> {
  if ((await outcome.verified()) && (edited || same(jsonOf(input), outcome.input))) return;
  throw new NotUnderstood("The approved input is another one than the input of this call, so it was not run.");
}

/** Return what runs: the input that people saw, or the changed input, parsed as the framework does. Throws Unfit if it does not fit. */
export async function inputToRun(schema: ToolSchema | undefined, input: unknown, call: Approved): Promise<unknown> {
  const { edited, outcome } = call;
  if (!edited) return input;
  const changed: unknown = inputOf(input) === input ? outcome.input : outcome.input?.arguments;
  try {
    return await fitted(schema, changed, input);
  } catch (error) {
    throw new Unfit(`${change(outcome)} It was not run: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Return the error of a call with what the model has to know beside it. */
export function withWords(error: unknown, words: string): unknown {
  if (!words) return error;
  return new Error(`${words}\n\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
}

/** Return an output with what the model has to know in it, for frameworks that send the model the output itself. */
export function told({ output, words }: Ran): unknown {
  if (!words) return output;
  if (typeof output === "object" && output !== null && !Array.isArray(output) && !("approval" in output)) {
    return { ...output, approval: words };
  }
  return `${words}\n\n${textOf(output)}`;
}
