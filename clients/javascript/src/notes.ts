/** What the model reads beside the output of a tool of the AI SDK, whose output for people stays as it is. */

import * as ai from "ai";
import { modelOutput, withNote } from "./model-output.js";
import type { ModelOutput } from "./model-output.js";
import { textOf } from "./text.js";

/** The SDK gives the output, from version 6 on in `{ toolCallId, input, output }`. */
export type ToModelOutput = (made: unknown) => ModelOutput | PromiseLike<ModelOutput>;

/** Version 5 tells `toModelOutput` no id of the call. */
const HAS_CALL_IDS = "ToolLoopAgent" in ai;

/** The notes on the outputs of one tool. */
export class Notes {
  readonly #byCall = new Map<string, string>();
  readonly #byOutput = new WeakMap<object, string>();

  constructor(readonly own: ToModelOutput | undefined) {}

  /** Keep a note on the output of a call; return the output, with the note in it where nothing else could carry it. */
  add(id: string, output: unknown, note: string): unknown {
    if (!note) return output;
    if (HAS_CALL_IDS) this.#byCall.set(id, note);
    else if (typeof output === "object" && output !== null) this.#byOutput.set(output, note);
    else return `${note}\n\n${textOf(output)}`;
    return output;
  }

  readonly toModelOutput: ToModelOutput = (made) => {
    const { toolCallId, output } = HAS_CALL_IDS ? (made as { toolCallId: string; output: unknown }) : { output: made };
    const note = toolCallId === undefined ? this.#byOutput.get(Object(output) as object) : this.#byCall.get(toolCallId);
    const plain = this.own ? this.own(made) : modelOutput(output);
    if (!note) return plain;
    return "then" in plain ? plain.then((found) => withNote(found, note)) : withNote(plain, note);
  };
}
