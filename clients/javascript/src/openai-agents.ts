/**
 * OpenAI Agents SDK: runs an agent to its end, and asks people about each tool that needs approval.
 *
 *     const result = await runWithDesk(agent, "Refund order 4711", desk);
 */

import { Runner, getCurrentSpan } from "@openai/agents";
import type {
  Agent,
  AgentInputItem,
  NonStreamRunOptions,
  RunResult,
  RunState,
  RunStreamEvent,
  StreamedRunResult,
} from "@openai/agents";
import type { ToolCall } from "./asking.js";
import { Calls } from "./calls.js";
import type { Asked } from "./client.js";
import type { Desk } from "./desk.js";
import { callOf, idOf, Unreadable } from "./openai-items.js";

/** What the SDK tells the model of a tool that failed, unless the tool has an `errorFunction`. */
const FAILED = "An error occurred while running the tool. Please try again.";

// biome-ignore lint/suspicious/noExplicitAny: agents of every context and output; the SDK's types take no unknown here
type AnyAgent = Agent<any, any>;
type RunInput<TContext, TAgent extends AnyAgent> = string | AgentInputItem[] | RunState<TContext, TAgent>;
type Listener = (event: RunStreamEvent) => void | Promise<void>;

export interface RunWithDeskOptions<TContext, TAgent extends AnyAgent> {
  /** The conversation. Without it, Pausepoint knows a call by the id that the model gave it. */
  threadId?: string;
  /** More fields of each request, such as `priority` or `timeout`. */
  asked?: Asked;
  /** The options of `run`, such as `context` or `maxTurns`. */
  run?: NonStreamRunOptions<TContext, TAgent>;
  /** Streams the run: it is called with each event, also of the runs after a decision. */
  onEvent?: Listener;
}

/**
 * Run an agent, put each interruption to people, and go on with their decisions until the run has a final output.
 *
 * `input` is what `run` takes, or a stored `RunState`. The SDK cannot change the arguments of a call. After an approval
 * with changes the model is told to make the call again, and a call with exactly the approved input then runs, once,
 * without asking again. A call whose result Pausepoint has does not run again: the model is told that result.
 */
export function runWithDesk<TAgent extends AnyAgent, TContext = undefined>(
  agent: TAgent,
  input: RunInput<TContext, TAgent>,
  desk: Desk,
  options: RunWithDeskOptions<TContext, TAgent> & { onEvent: Listener },
): Promise<StreamedRunResult<TContext, TAgent>>;
export function runWithDesk<TAgent extends AnyAgent, TContext = undefined>(
  agent: TAgent,
  input: RunInput<TContext, TAgent>,
  desk: Desk,
  options?: RunWithDeskOptions<TContext, TAgent>,
): Promise<RunResult<TContext, TAgent>>;
export async function runWithDesk<TAgent extends AnyAgent, TContext>(
  agent: TAgent,
  input: RunInput<TContext, TAgent>,
  desk: Desk,
  options: RunWithDeskOptions<TContext, TAgent> = {},
): Promise<RunResult<TContext, TAgent> | StreamedRunResult<TContext, TAgent>> {
  if ((options.run as { stream?: boolean } | undefined)?.stream) {
    throw new TypeError("Give `onEvent` in place of `stream: true`: a run with decisions is several streams.");
  }
  const calls = new Calls(desk, options.asked ?? {});
  const runner = new Runner();
  const reports = reportsOf(calls);
  reports.watch(runner);
  try {
    for (let next = input; ; ) {
      const result = await started(runner, agent, next, options).finally(reports.all);
      await reportOutputs(calls, result.newItems);
      const items = result.state.getInterruptions();
      if (items.length === 0) return result;
      const wanted = items.map((item) => readable(() => callOf(item, options.threadId ?? "")));
      const decided = await Promise.all(wanted.map((call) => (typeof call === "string" ? undefined : calls.ask(call))));
      // Only now: a call that waits for the decision about another one does not run.
      for (const [place, item] of items.entries()) {
        const call = wanted[place]!;
        const message = typeof call === "string" ? call : (await calls.settle(call, decided[place]!)).refused;
        if (message) result.state.reject(item, { message });
        else result.state.approve(item);
        // It may be of an agent that is a tool of another one, which has a runner of its own.
        if (item.agent !== agent) reports.watch(item.agent as AnyAgent);
      }
      next = result.state;
    }
  } finally {
    reports.unwatch();
  }
}

/** Return a call, or why no one can read it. */
function readable(read: () => ToolCall): ToolCall | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
}

async function started<TContext, TAgent extends AnyAgent>(
  runner: Runner,
  agent: TAgent,
  input: RunInput<TContext, TAgent>,
  { run, onEvent }: RunWithDeskOptions<TContext, TAgent>,
): Promise<RunResult<TContext, TAgent> | StreamedRunResult<TContext, TAgent>> {
  if (!onEvent) return runner.run(agent, input, run);
  const result = await runner.run(agent, input, { ...run, stream: true });
  for await (const event of result) await onEvent(event);
  await result.completed;
  return result;
}

interface Reports {
  /** Report what a runner or an agent runs from now on. */
  watch(watched: Runner | AnyAgent): void;
  unwatch(this: void): void;
  all(this: void): Promise<void>;
}

/** Report the results of approved calls when they have run, before the model is asked again. */
function reportsOf(calls: Calls): Reports {
  const failed = new Map<string, string>();
  const reports: Promise<void>[] = [];
  const ends: (() => void)[] = [];
  const watched = new Set<object>();
  const began = (toolCall: object): void => {
    // The SDK turns an error into a text for the model, and says that it was one to its span only.
    const span = getCurrentSpan();
    const setError = span?.setError.bind(span);
    if (span && setError) {
      span.setError = (error) => {
        failed.set(idOf(toolCall), error.message);
        setError(error);
      };
    }
  };
  const ended = (text: string, toolCall: object): void => {
    const id = idOf(toolCall);
    const isError = failed.has(id) || text === FAILED;
    reports.push(calls.report(id, isError ? { error: text } : { output: outputOf(text) }));
  };
  const watch = (emitter: Runner | AnyAgent): void => {
    if (watched.has(emitter)) return;
    watched.add(emitter);
    // The toolCall is the last argument of both; a runner is told the agent, too.
    const onStart = (...told: unknown[]): void => began((told.at(-1) as { toolCall: object }).toolCall);
    const onEnd = (...told: unknown[]): void => ended(told.at(-2) as string, (told.at(-1) as { toolCall: object }).toolCall);
    const { on, off } = emitter as unknown as Record<"on" | "off", (name: string, listener: typeof onStart) => void>;
    on.call(emitter, "agent_tool_start", onStart);
    on.call(emitter, "agent_tool_end", onEnd);
    ends.push(() => {
      off.call(emitter, "agent_tool_start", onStart);
      off.call(emitter, "agent_tool_end", onEnd);
    });
  };
  const all = async (): Promise<void> => {
    await Promise.all(reports.splice(0));
    // Of a tool whose error ends the run.
    for (const [id, error] of failed) await calls.report(id, { error });
    failed.clear();
  };
  const unwatch = (): void => {
    for (const end of ends.splice(0)) end();
  };
  return { watch, unwatch, all };
}

/** Report the outputs of approved calls of which the SDK has no event, such as those that the provider has run. */
// biome-ignore lint/suspicious/noExplicitAny: as above
async function reportOutputs(calls: Calls, items: RunResult<any, any>["newItems"]): Promise<void> {
  for (const item of items) {
    if (item.type === "tool_call_output_item") {
      const failed = (item.rawItem as { status?: unknown }).status === "failed";
      await calls.report(idOf(item.rawItem), failed ? { error: String(item.output) } : { output: item.output });
    } else if (item.type === "tool_call_item" && item.rawItem.type === "hosted_tool_call") {
      const { type, approval_request_id: id, error } = item.rawItem.providerData ?? {};
      if (type === "mcp_call") await calls.report(String(id), error ? { error: String(error) } : { output: item.rawItem.output });
    }
  }
}

/** Return an output from the text that the SDK made of it. */
function outputOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : text;
  } catch {
    return text;
  }
}
