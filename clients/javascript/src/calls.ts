/** The calls of an SDK that cannot change the input of a call. */

import { askAbout } from "./asking.js";
import type { ToolCall } from "./asking.js";
import type { Asked, Desk } from "./desk.js";
import type { Outcome } from "./outcome.js";
import { reported } from "./results.js";
import { same } from "./text.js";
import { change, knownResult, message, refusal } from "./words.js";

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
    const outcome = again?.outcome ?? (await askAbout(this.desk, call, this.asked));
    const { by } = outcome;
    if (!outcome.approved) return { refused: refusal(outcome), by };
    // The call of an earlier process, which was started again.
    if (outcome.result) return { refused: knownResult(outcome.result), by };
    if (outcome.edited && !again) {
      this.#changed.push({ name: call.name, outcome });
      const request = "It was not run. Make the call again with exactly this input.";
      return { refused: [change(outcome), message(outcome), request].filter(Boolean).join(" "), by };
    }
    this.#approved.set(call.id, outcome);
    return { refused: "", by };
  }

  /** Report what an approved call did. */
  async report(id: string, result: { output: unknown } | { error: unknown }): Promise<void> {
    const outcome = this.#approved.get(id);
    if (!outcome) return;
    this.#approved.delete(id);
    await reported(this.desk, outcome, result);
  }
}
