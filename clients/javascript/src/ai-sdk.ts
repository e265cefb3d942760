/**
 * AI SDK 7: people decide in `toolApproval`, in the place where the call starts.
 *
 *     const approval = pausepoint({ tools: ["refund"] });
 *     await generateText({ ..., toolApproval: approval, onToolExecutionEnd: approval.report });
 */

import { Calls } from "./calls.js";
import { Desk } from "./desk.js";
import type { Asked } from "./desk.js";

/** What the AI SDK takes as the status of a call. */
export type ApprovalStatus = "not-applicable" | { type: "approved" | "denied"; reason?: string };

export interface PausepointOptions {
  /** The tools to ask about; without it, every tool is asked about. */
  tools?: readonly string[];
  /** By default, one with `PAUSEPOINT_URL` and `PAUSEPOINT_KEY` of the environment. */
  desk?: Desk;
  /** The conversation. Without it, Pausepoint knows a call by the id that the model gave it. */
  threadId?: string;
  agent?: string;
  /** More fields of each request, such as `priority` or `timeout`. */
  asked?: Asked;
}

interface Call {
  toolName: string;
  toolCallId: string;
  input: unknown;
}

interface Ended {
  toolCall: { toolCallId: string };
  toolOutput: { type: "tool-result"; output: unknown } | { type: "tool-error"; error: unknown };
}

export interface ToolApproval {
  (options: { toolCall: Call }): Promise<ApprovalStatus>;
  /** Report the result of an approved call, as `onToolExecutionEnd`. */
  report(this: void, event: Ended): Promise<void>;
}

/**
 * Return a `toolApproval` for `generateText`, `streamText` or `ToolLoopAgent`.
 *
 * The SDK cannot change the input of a call. After an approval with changes the model is told to make the call again,
 * and a call with exactly the approved input then runs, once, without asking again.
 */
export function pausepoint(options: PausepointOptions = {}): ToolApproval {
  const { tools, threadId: thread = "", agent = "" } = options;
  const calls = new Calls(options.desk ?? new Desk(), options.asked ?? {});
  const decide = async ({ toolCall }: { toolCall: Call }): Promise<ApprovalStatus> => {
    if (tools && !tools.includes(toolCall.toolName)) return "not-applicable";
    const input = Object(toolCall.input) as Record<string, unknown>;
    const { refused, by } = await calls.ask({ name: toolCall.toolName, id: toolCall.toolCallId, input, thread, agent });
    return refused ? { type: "denied", reason: refused } : { type: "approved", ...(by ? { reason: by } : {}) };
  };
  const report = ({ toolCall, toolOutput }: Ended): Promise<void> =>
    calls.report(
      toolCall.toolCallId,
      toolOutput.type === "tool-error" ? { error: toolOutput.error } : { output: toolOutput.output },
    );
  return Object.assign(decide, { report });
}
