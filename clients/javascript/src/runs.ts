/** Runs a call once it is approved, in one process. */

import { askAbout } from "./asking.js";
import type { Input, ToolCall } from "./asking.js";
import type { Asked, DeskClient } from "./client.js";
import { HasFailed } from "./errors.js";
import { jsonOf } from "./json.js";
import { claim } from "./leases.js";
import { Halted, NotApproved } from "./outcome.js";
import type { Outcome } from "./outcome.js";
import { ended } from "./results.js";
import type { CallResult } from "./results.js";
import { ordered } from "./text.js";
import { knownResult, note, refusal } from "./words.js";

/**
 * How an approved call goes on: it runs, and `end` reports what it did; or its output is known, because it has run. A person
 * may have `edited` the input. `words` are for the model, beside the output.
 */
export type Approved = { outcome: Outcome; edited: boolean; words: string } & (
  { end(result: CallResult): Promise<void> } | { output: unknown }
);

/** The calls of one gate. */
export class Runs {
  readonly #counts = new Map<string, number>();

  constructor(
    readonly desk: DeskClient,
    readonly asked: Asked,
  ) {}

  /** Return how a call without an id is known within its thread: by its input, and how often it was made. */
  async placeOf(name: string, input: unknown): Promise<string> {
    const content = contentOf(name, input);
    const count = (this.#counts.get(content) ?? 0) + 1;
    this.#counts.set(content, count);
    return `${await this.desk.nameOf(content)}-${count}`;
  }

  /** Return how a call is known among others with its id: by its input. */
  nameOf(name: string, input: unknown): Promise<string> {
    return this.desk.nameOf(contentOf(name, input));
  }

  /** Ask about a call, run it with the approved input, and report what it did. Throws as `approved`, and what `run` throws. */
  async run(call: ToolCall, run: (input: Input) => unknown, signal?: AbortSignal): Promise<unknown> {
    const approved = await this.approved(call, signal);
    if ("output" in approved) return approved.output;
    let output: unknown;
    try {
      output = await run((approved.edited && approved.outcome.input) || call.input);
      if (isGenerator(output)) throw new TypeError("An approved call may not return a generator, which runs later.");
    } catch (error) {
      await approved.end({ error });
      throw error;
    }
    await approved.end({ output });
    return output;
  }

  /**
   * Ask about a call, wait, and claim it: no other process runs it meanwhile, and one that ran it gives its result. Throws
   * NotApproved (Halted if the run has to stop), HasFailed, Refused or Unreachable.
   */
  async approved(call: ToolCall, signal?: AbortSignal): Promise<Approved> {
    const decided = await askAbout(this.desk, call, this.asked, signal);
    const { outcome, earlier, lease } = await claim(this.desk, decided, this.asked, signal);
    if (!outcome.approved) throw new (outcome.halted ? Halted : NotApproved)(refusal(outcome, earlier), outcome);
    const approvals = [...earlier, outcome];
    const edited = approvals.some((each) => each.edited);
    const words = approvals.map(note).filter(Boolean).join(" ");
    if (outcome.result) return { outcome, edited, words, output: outputOf(outcome.result) };
    return { outcome, edited, words, end: (result) => ended(this.desk, outcome, result, lease) };
  }
}

function contentOf(name: string, input: unknown): string {
  return JSON.stringify([name, ordered(jsonOf(input))]);
}

/** Return the output of a call that has run before. Throws the error that it failed with. */
function outputOf(result: NonNullable<Outcome["result"]>): unknown {
  if (result.state === "succeeded") return result.output;
  throw new HasFailed(knownResult(result));
}

function isGenerator(value: unknown): boolean {
  return /^\[object (?:Async)?Generator\]$/.test(Object.prototype.toString.call(value));
}
