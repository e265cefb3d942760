/** The calls of an SDK that cannot change the input of a call. */

import { askAbout } from "./asking.js";
import type { ToolCall } from "./asking.js";
import type { Asked, DeskClient } from "./client.js";
import { claim } from "./leases.js";
import type { Claim } from "./leases.js";
import type { Outcome } from "./outcome.js";
import { ended } from "./results.js";
import type { CallResult } from "./results.js";
import { same } from "./text.js";
import { change, knownResult, message, refusal } from "./words.js";

/** What the model is told if a call may not run, else nothing; and who decided. */
export interface Settled {
  refused: string;
  by: string | null;
}

/** The calls of one agent that people were asked about. */
export class Calls {
  /** What runs, by the id of the call. */
  readonly #approved = new Map<string, Claim>();
  /** What was approved with changes and not called so yet. */
  readonly #changed: { name: string; outcome: Outcome }[] = [];

  constructor(
    readonly desk: DeskClient,
    readonly asked: Asked,
  ) {}

  /** Ask about a call and wait; return how it was decided. A call that repeats another one as it was changed is not asked. */
  async ask(call: ToolCall): Promise<Outcome> {
    const made = this.#changed.findIndex(({ name, outcome }) => name === call.name && same(outcome.input, call.input));
    const [again] = made < 0 ? [] : this.#changed.splice(made, 1);
    return again?.outcome ?? askAbout(this.desk, call, this.asked);
  }

  /** Claim a call that was decided, when it is about to run. */
  async settle(call: ToolCall, decided: Outcome): Promise<Settled> {
    const fits = same(decided.input, call.input);
    const claimed: Claim = fits ? await claim(this.desk, decided, this.asked) : { outcome: decided, earlier: [] };
    const { outcome, earlier } = claimed;
    const { by } = outcome;
    if (!outcome.approved) return { refused: refusal(outcome, earlier), by };
    // The call has run in another process.
    if (outcome.result) return { refused: knownResult(outcome.result), by };
    if (!same(outcome.input, call.input)) {
      await claimed.lease?.release();
      this.#changed.push({ name: call.name, outcome });
      const request = "It was not run. Make the call again with exactly this input.";
      return { refused: [change(outcome), message(outcome), request].filter(Boolean).join(" "), by };
    }
    this.#approved.set(call.id, claimed);
    return { refused: "", by };
  }

  /** Report what an approved call did. */
  async report(id: string, result: CallResult): Promise<void> {
    const claimed = this.#approved.get(id);
    if (!claimed) return;
    this.#approved.delete(id);
    await ended(this.desk, claimed.outcome, result, claimed.lease);
  }
}
