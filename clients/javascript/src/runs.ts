/** Runs a call once it is approved, and never twice. */

import { askAbout } from "./asking.js";
import type { Input, ToolCall } from "./asking.js";
import { digestOf } from "./crypto.js";
import type { Asked, Desk } from "./desk.js";
import { HasFailed, NotApproved } from "./errors.js";
import type { Outcome } from "./outcome.js";
import { reported } from "./results.js";
import type { CallResult } from "./results.js";
import { ordered } from "./text.js";
import { knownResult, refusal } from "./words.js";

/** How an approved call goes on: it runs, and `end` reports what it did; or its output is known, because it has run. */
export type Approved = { outcome: Outcome } & ({ end(result: CallResult): Promise<void> } | { output: unknown });

/** The calls of one gate. */
export class Runs {
  /** Ids of calls that wait, run, or have run without their result being stored at Pausepoint. */
  readonly #ids = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(
    readonly desk: Desk,
    readonly asked: Asked,
  ) {}

  /** Return how a call without an id is known within its thread: by its input, and how often it was made. */
  async placeOf(name: string, input: unknown): Promise<string> {
    const content = `${name} ${JSON.stringify(ordered(input))}`;
    const count = (this.#counts.get(content) ?? 0) + 1;
    this.#counts.set(content, count);
    return `${(await digestOf(content)).slice(0, 40)}-${count}`;
  }

  /** Ask about a call, run it with the approved input, and report what it did. Throws as `approved`, and what `run` throws. */
  async run(call: ToolCall, run: (input: Input) => unknown, signal?: AbortSignal): Promise<unknown> {
    const approved = await this.approved(call, signal);
    if ("output" in approved) return approved.output;
    const { outcome, end } = approved;
    let output: unknown;
    try {
      output = await run(outcome.edited && outcome.input ? outcome.input : call.input);
    } catch (error) {
      await end({ error });
      throw error;
    }
    await end({ output });
    return output;
  }

  /** Ask about a call, and wait. Throws NotApproved, HasFailed, Refused or Unreachable. */
  async approved(call: ToolCall, signal?: AbortSignal): Promise<Approved> {
    if (call.id && this.#ids.has(call.id)) {
      throw new Error("This call waits for a person or runs already, so it was not run a second time.");
    }
    this.#ids.add(call.id);
    let runs = false;
    try {
      const outcome = await askAbout(this.desk, call, this.asked, signal);
      if (!outcome.approved) throw new NotApproved(refusal(outcome), outcome);
      if (outcome.result) return { outcome, output: outputOf(outcome.result) };
      runs = true;
      const end = async (result: CallResult): Promise<void> => {
        if (await reported(this.desk, outcome, result)) this.#ids.delete(call.id);
      };
      return { outcome, end };
    } finally {
      if (!runs) this.#ids.delete(call.id);
    }
  }
}

/** Return the output of a call that has run before. Throws the error that it failed with. */
function outputOf(result: NonNullable<Outcome["result"]>): unknown {
  if (result.state === "succeeded") return result.output;
  throw new HasFailed(knownResult(result));
}
