/** Outputs and errors in the form that Pausepoint accepts. */

import { whole } from "./json.js";
import { shortened } from "./text.js";

/** Characters; Pausepoint takes no longer ones. */
const MAX_ERROR = 2000;
/** Characters of an output that is reported; the rest is for the model only. So few hold fewer values than the limit. */
const MAX_OUTPUT = 19_900;
/** Deeper outputs are reported as text. */
const MAX_LEVELS = 60;

/** Return a result as it is sent. A call has run, so nothing that it returned or threw is refused here. */
export function reportable({ output, error }: { output?: unknown; error?: unknown }): { output: unknown } | { error: string } {
  if (error) return { error: typeof error === "string" ? error : errorText(error) };
  try {
    return { output: whole(output ?? null) };
  } catch {
    return bounded(output);
  }
}

export function errorText(error: unknown): string {
  const text = error instanceof Error ? cleaned(`${error.name}: ${error.message}`) : textOf(error);
  return shortened(text || "Error", MAX_ERROR);
}

/** Return an output as Pausepoint takes it: one that is too large, or no JSON that can be stored, is cleaned text. */
export function bounded(output: unknown): { output: unknown } {
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
