/** What a call did, as Pausepoint takes it. */

import type { Desk } from "./desk.js";
import { DeskError } from "./errors.js";
import { whole } from "./json.js";
import type { Lease } from "./leases.js";
import type { Outcome } from "./outcome.js";
import { shortened } from "./text.js";

/** Characters; Pausepoint takes no longer ones. */
const MAX_ERROR = 2000;
/** Characters of an output that is reported; the rest is for the model only. So few hold fewer values than the limit. */
const MAX_OUTPUT = 19_900;
/** Deeper outputs are reported as text. */
const MAX_LEVELS = 60;

export type CallResult = { output: unknown } | { error: unknown };

/**
 * Report what an approved call did; return whether it was stored. If it was not, log it: the call has run, and the agent
 * needs its result.
 */
export async function reported(desk: Desk, outcome: Outcome, result: CallResult): Promise<boolean> {
  try {
    await desk.report(outcome, "error" in result ? { error: errorText(result.error) } : bounded(result.output));
    return true;
  } catch (error) {
    if (!(error instanceof DeskError)) throw error;
    console.error(`The result of request ${outcome.requestId} could not be reported.`, error);
    return false;
  }
}

/** Report what a call did that was claimed, and complete its lease. Without a report the lease expires: no one knows then. */
export async function ended(desk: Desk, outcome: Outcome, result: CallResult, lease?: Lease): Promise<void> {
  lease?.stop();
  if (!(await reported(desk, outcome, result)) || !lease) return;
  try {
    await lease.complete();
  } catch (error) {
    if (!(error instanceof DeskError)) throw error;
    console.error(`The lease of request ${outcome.requestId} could not be completed.`, error);
  }
}

/** Return a result as it is sent. A call has run, so nothing that it returned or threw is refused here. */
export function reportable({ output, error }: { output?: unknown; error?: unknown }): { output: unknown } | { error: string } {
  if (error) return { error: typeof error === "string" ? error : errorText(error) };
  try {
    return { output: whole(output ?? null) };
  } catch {
    return bounded(output);
  }
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
