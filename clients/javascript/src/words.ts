/** A person's decision as words for a model. */

import type { Outcome, Result } from "./outcome.js";

/** What people and models are told about a call whose process ended without a result. */
export const UNKNOWN = "An earlier run of this call ended before it reported a result, so it may have run already.";

/** What a model is told if the policy stops the run. */
const STOPS = "the policy stops the run now. Do nothing else, and tell the person you work for.";
const HALTED = `No one decided in time, so this call was not run, and ${STOPS}`;

/** Return what a model is told about a call that was not approved, or not again after `earlier` approvals. */
export function refusal(outcome: Outcome, earlier: readonly Outcome[] = []): string {
  if (earlier.length > 0) return `${UNKNOWN} ${refusal(outcome)}`;
  if (outcome.halted) return HALTED;
  if (outcome.status === "expired") return "No one decided in time, so this call was not run.";
  if (outcome.status === "cancelled") return `This call was cancelled${comment(outcome)} Do not repeat it.`;
  if (outcome.rule !== null) return `${ruleOf(outcome)} denies this call${comment(outcome)} Do not repeat it.`;
  return `A person declined this call${comment(outcome)} Do not repeat it.`;
}

/** Return what a model is told about a call that was approved with changes. */
export function change(outcome: Outcome): string {
  return `A person changed the input of this call to ${JSON.stringify(outcome.input)}.`;
}

/** Return the message of the person or rule that approved a call, if there is one. */
export function message(outcome: Outcome): string {
  const who = outcome.rule === null ? "The person who approved it" : ruleOf(outcome);
  return outcome.comment.trim() ? `${who} says${comment(outcome)}` : "";
}

function ruleOf(outcome: Outcome): string {
  return `The rule '${outcome.rule}' of the policy`;
}

/** Return what a model is told with the result of a call that has run: the changes and the message of the person. */
export function note(outcome: Outcome): string {
  return [
    outcome.edited ? `${change(outcome)} It ran with this input.` : "",
    message(outcome),
  ]
    .filter(Boolean)
    .join(" ");
}

/** Return what a model is told about a call that has run in an earlier attempt. */
export function knownResult(result: Result): string {
  if (result.state !== "succeeded") return `This call has run already, and failed: ${plain(result.error ?? result.state)}`;
  return `This call has run already, and returned: ${plain(result.output)}`;
}

/** Return the answer to a question as text, or why there is none. */
export function answerText(outcome: Outcome): string {
  const { answer, status } = outcome;
  if (typeof answer === "string") return answer;
  if (typeof answer === "object" && answer !== null && "selected" in answer && Array.isArray(answer.selected)) {
    return "text" in answer && answer.text ? plain(answer.text) : answer.selected.map(plain).join(", ");
  }
  if (answer !== null && answer !== undefined) return JSON.stringify(answer);
  if (outcome.halted) return `No one answered in time, and ${STOPS}`;
  if (status === "rejected") return `A person declined to answer${comment(outcome)}`;
  return status === "expired" ? "No one answered in time." : `The question was cancelled${comment(outcome)}`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Return the message of the person as the end of a sentence. */
function comment(outcome: Outcome): string {
  const text = outcome.comment.trim();
  if (!text) return ".";
  return /[.!?]$/.test(text) ? `: ${text}` : `: ${text}.`;
}
