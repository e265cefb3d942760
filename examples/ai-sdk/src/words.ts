/** Texts about decisions, tools and values. */

import { getToolName, isToolUIPart, type DynamicToolUIPart, type ToolUIPart, type UIMessage } from "ai";
import type { Decision, Pending } from "./desk";
import { questionOf } from "./question";

export type ToolPart = ToolUIPart | DynamicToolUIPart;

const VERDICTS: Record<string, string> = {
  approve: "approved",
  edit: "approved with changes",
  reject: "rejected",
  respond: "answered",
  cancel: "cancelled",
};

/** Who decided, if this page was too late. */
export function lateWords(decision: Decision, pending: Pending[], messages: UIMessage[]): string {
  const asked = pending.find((one) => one.requestId === decision.request_id);
  const part = asked && partOf(asked.toolCallId, messages);
  const what = part ? `“${titleOf(part)}” was` : "it was";
  const at = new Date(decision.decided_at).toLocaleTimeString([], { timeStyle: "short" });
  if (!decision.by) return `The deadline passed first: ${what} closed at ${at}.`;
  return `${decision.by} answered first: ${what} ${VERDICTS[decision.verdict] ?? decision.verdict} at ${at}. Your answer was not used.`;
}

/** The outcome of requests that others decided; "" for none. */
export function settledWords(settled: Pending[], messages: UIMessage[]): string {
  return settled
    .map((asked) => {
      const part = partOf(asked.toolCallId, messages);
      return part ? `“${titleOf(part)}” was ${outcome(part)} elsewhere.` : `“${asked.title}” was closed elsewhere.`;
    })
    .join(" ");
}

function partOf(toolCallId: string, messages: UIMessage[]): ToolPart | undefined {
  const parts = messages.flatMap((message) => message.parts).filter(isToolUIPart);
  return parts.find((part) => part.toolCallId === toolCallId);
}

/** The heading of a call: the question, or the name of the tool in words. */
export function titleOf(part: ToolPart): string {
  const name = getToolName(part);
  return (part.state !== "input-streaming" && questionOf(name, part.input)?.question) || spaced(name);
}

function outcome(part: ToolPart): string {
  if (part.approval?.approved) return "approved";
  if (part.state === "output-denied") return "rejected";
  return part.state === "output-available" ? "answered" : "closed";
}

/** `issueRefund` to “Issue refund”. */
function spaced(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").trim().toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
