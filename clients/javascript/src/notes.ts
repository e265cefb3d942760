/** What the model reads beside the output of a tool of the AI SDK, whose output for people stays as it is. */

import * as ai from "ai";

/** What the AI SDK sends to the model for an output. */
interface ModelOutput {
  type: string;
  value?: unknown;
}

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
    else return `${note}\n\n${typeof output === "string" ? output : jsonOf(output)}`;
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

/** Return what the SDK sends for an output without a `toModelOutput`. */
function modelOutput(output: unknown): ModelOutput {
  if (typeof output === "string") return { type: "text", value: output };
  return { type: "json", value: JSON.parse(jsonOf(output)) as unknown };
}

function withNote(output: ModelOutput, note: string): ModelOutput {
  const { type, value } = output;
  if (type === "content" && Array.isArray(value)) return { ...output, value: [{ type: "text", text: note }, ...value] };
  if (type === "text" || type === "error-text") return { ...output, value: `${note}\n\n${String(value)}` };
  if (type === "json") return { ...output, type: "text", value: `${note}\n\n${jsonOf(value)}` };
  return output;
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value ?? null) ?? "null";
}
