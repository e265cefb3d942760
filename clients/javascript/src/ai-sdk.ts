/**
 * AI SDK: `gate` for the versions 5, 6 and 7, and `pausepoint` for the `toolApproval` of version 7.
 *
 *     const result = await generateText({ ..., tools: gate(tools, { tools: ["refund"] }) });
 */

import * as ai from "ai";
import { checkNames, checkNotEmpty, inputOf } from "./asking.js";
import type { Input } from "./asking.js";
import { Calls } from "./calls.js";
import { Desk } from "./desk.js";
import { schemaIn } from "./gate.js";
import type { GateOptions } from "./gating.js";
import { jsonOf } from "./json.js";
import { formOf } from "./schemas.js";

export { gate } from "./gate.js";
export type { GateOptions } from "./gating.js";

/** What the AI SDK takes as the status of a call. */
export type ApprovalStatus = "not-applicable" | { type: "approved" | "denied"; reason?: string };

interface Call {
  toolName: string;
  toolCallId: string;
  input: unknown;
}

interface Ended {
  toolCall: { toolCallId: string };
  toolOutput: { type: "tool-result"; output: unknown } | { type: "tool-error"; error: unknown };
}

interface Tool {
  inputSchema?: unknown;
}

interface Asking {
  toolCall: Call;
  tools?: Readonly<Record<string, object>> | undefined;
}

export interface ToolApproval {
  (options: Asking): Promise<ApprovalStatus>;
  /** Report the result of an approved call, as `onToolExecutionEnd`. */
  report(this: void, event: Ended): Promise<void>;
}

/**
 * Return a `toolApproval` for `generateText`, `streamText` or `ToolLoopAgent` of AI SDK 7. Throws Error with another
 * version, or beside `WorkflowAgent` of `@ai-sdk/workflow`: they would ignore it and run every tool.
 *
 * The SDK cannot change the input of a call. After an approval with changes the model is told to make the call again,
 * and a call with exactly the approved input then runs, once, without asking again.
 */
export function pausepoint(options: GateOptions = {}): ToolApproval {
  requireToolApproval();
  refuseWorkflowAgent();
  const { tools: named, threadId: thread = "", agent = "" } = options;
  checkNotEmpty(named);
  const calls = new Calls(options.desk ?? new Desk(), options.asked ?? {});
  const decide = async ({ toolCall, tools }: Asking): Promise<ApprovalStatus> => {
    if (named && tools) checkNames(named, Object.keys(tools));
    if (named && !named.includes(toolCall.toolName)) return "not-applicable";
    const { toolName: name, toolCallId: id } = toolCall;
    const input = jsonOf(inputOf(toolCall.input), "input") as Input;
    const schema = await formOf(schemaIn(tools?.[name] as Tool | undefined), toolCall.input);
    const call = { name, id, input, thread, agent, schema };
    const { refused, by } = await calls.settle(call, await calls.ask(call));
    return refused ? { type: "denied", reason: refused } : { type: "approved", ...(by ? { reason: by } : {}) };
  };
  const report = ({ toolCall, toolOutput }: Ended): Promise<void> =>
    calls.report(
      toolCall.toolCallId,
      toolOutput.type === "tool-error" ? { error: toolOutput.error } : { output: toolOutput.output },
    );
  return Object.assign(decide, { report });
}

/** Throw unless the SDK asks `toolApproval`. It does not say its version, but this export is younger than the option. */
function requireToolApproval(): void {
  if ("toUIMessageStream" in ai) return;
  throw new Error(
    "The installed AI SDK has no toolApproval: it would ignore pausepoint(...) and run every tool without asking. " +
      "Use gate(tools, {...}), which works with the versions 5, 6 and 7, or install version 7 (`npm install ai@7`).",
  );
}

/**
 * Throw where a `WorkflowAgent` may be: it does not read `toolApproval`, so nothing that is given there could object. Its package
 * loads the Workflow SDK, which leaves these symbols behind, in the process and in the realm that a workflow runs in.
 */
function refuseWorkflowAgent(): void {
  const names = Object.getOwnPropertySymbols(globalThis).map((symbol) => Symbol.keyFor(symbol) ?? "");
  if (!names.some((name) => /^(?:@workflow\/core\/\/|WORKFLOW_)/.test(name))) return;
  throw new Error(
    "The Workflow SDK is loaded here, and WorkflowAgent of @ai-sdk/workflow has no toolApproval: it would ignore " +
      "pausepoint(...) and run every tool without asking. Use gate(tools, {...}), which works with every agent class.",
  );
}
