/**
 * OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.
 *
 *     const result = await runWithDesk(agent, "Refund order 4711", desk);
 */

import { run } from "@openai/agents";
import type {
  Agent,
  AgentInputItem,
  NonStreamRunOptions,
  RunResult,
  RunState,
  RunToolApprovalItem,
} from "@openai/agents";
import { Calls } from "./calls.js";
import type { ToolCall } from "./asking.js";
import type { Asked, Desk } from "./desk.js";

export interface RunWithDeskOptions<TContext, TAgent extends Agent<any, any>> {
  /** The conversation. Without it, Pausepoint knows a call by the id that the model gave it. */
  threadId?: string;
  /** More fields of each request, such as `priority` or `timeout`. */
  asked?: Asked;
  /** The options of `run`, such as `context` or `maxTurns`. */
  run?: NonStreamRunOptions<TContext, TAgent>;
}

/**
 * Run an agent, put each interruption to people, and go on with their decisions until the run has a final output.
 *
 * `input` is what `run` takes, or a stored `RunState`. The SDK cannot change the arguments of a call. After an approval
 * with changes the model is told to make the call again, and a call with exactly the approved input then runs, once,
 * without asking again.
 */
export async function runWithDesk<TAgent extends Agent<any, any>, TContext = undefined>(
  agent: TAgent,
  input: string | AgentInputItem[] | RunState<TContext, TAgent>,
  desk: Desk,
  options: RunWithDeskOptions<TContext, TAgent> = {},
): Promise<RunResult<TContext, TAgent>> {
  const calls = new Calls(desk, options.asked ?? {});
  let result = await run(agent, input, options.run);
  while (result.interruptions.length > 0) {
    const { state } = result;
    const items = state.getInterruptions();
    const decided = await Promise.all(items.map((item) => calls.ask(callOf(item, options.threadId ?? ""))));
    items.forEach((item, place) => {
      const message = decided[place]?.refused;
      if (message) state.reject(item, { message });
      else state.approve(item);
    });
    result = await run(agent, state, options.run);
    await reportOutputs(calls, result);
  }
  return result;
}

/** Report the outputs of approved calls that have run. */
async function reportOutputs<TContext, TAgent extends Agent<any, any>>(
  calls: Calls,
  result: RunResult<TContext, TAgent>,
): Promise<void> {
  for (const item of result.newItems) {
    if (item.type !== "tool_call_output_item" || !("callId" in item.rawItem)) continue;
    await calls.report(String(item.rawItem.callId), { output: item.output });
  }
}

function callOf(item: RunToolApprovalItem, thread: string): ToolCall {
  const id = "callId" in item.rawItem ? item.rawItem.callId : item.rawItem.id;
  const given: unknown = JSON.parse(item.arguments || "{}");
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  return {
    name: item.name ?? "tool",
    id: id ?? "",
    input: isObject ? (given as Record<string, unknown>) : { arguments: given },
    thread,
    agent: item.agent.name,
  };
}
