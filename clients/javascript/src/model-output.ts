/** What the AI SDK and Mastra send to the model for the output of a tool. */

import { textOf } from "./text.js";

export interface ModelOutput {
  type: string;
  value?: unknown;
}

/** Return what the SDK sends for an output without a `toModelOutput`. */
export function modelOutput(output: unknown): ModelOutput {
  if (typeof output === "string") return { type: "text", value: output };
  return { type: "json", value: JSON.parse(textOf(output)) as unknown };
}

/** Return an output with a note before it. */
export function withNote(output: ModelOutput, note: string): ModelOutput {
  const { type, value } = output;
  if (type === "content" && Array.isArray(value)) return { ...output, value: [{ type: "text", text: note }, ...value] };
  if (type === "text" || type === "error-text") return { ...output, value: `${note}\n\n${String(value)}` };
  if (type === "json") return { ...output, type: "text", value: `${note}\n\n${textOf(value)}` };
  return output;
}
