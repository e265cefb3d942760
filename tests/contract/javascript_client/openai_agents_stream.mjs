// A streamed run of the OpenAI Agents SDK with tools that fail in each way, and without `onEvent`, which is refused.
import { Agent, setTracingDisabled, tool } from "@openai/agents";
import { Desk } from "@pausepoint/client";
import { runWithDesk } from "@pausepoint/client/openai-agents";
import { z } from "zod";
import { idOf, tell, threadId } from "./shared.mjs";

setTracingDisabled(true);
const names = ["refund", "bare", "custom", "fatal"];
const call = (name) => ({ type: "function_call", callId: idOf(name), name, status: "completed", arguments: "{}" });
const done = {
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "done" }],
};
const steps = [names.slice(0, 3).map(call), [done], [call("fatal")]];
const model = {
  async getResponse() {
    throw new Error("not streamed");
  },
  async *getStreamedResponse() {
    yield { type: "output_text_delta", delta: "…" };
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    yield { type: "response_done", response: { id: "r", usage, output: steps.shift() } };
  },
};
const fail = async () => {
  throw new Error("the bank says no");
};
const made = (name, more) =>
  tool({ name, description: name, parameters: z.object({}), needsApproval: true, execute: fail, ...more });
const agent = new Agent({
  name: "billing",
  model,
  tools: [
    made("refund", { execute: async () => ({ refunded: 250 }) }),
    made("bare"),
    made("custom", { errorFunction: (_, error) => `Sorry: ${error.message}` }),
    made("fatal", { errorFunction: null }),
  ],
});
const failure = async (run) => run.then(() => "", (error) => error.message);
const desk = new Desk();
const refused = await failure(runWithDesk(agent, "Refund", desk, { threadId, run: { stream: true } }));
let deltas = 0;
const onEvent = ({ type, data }) => {
  if (type === "raw_model_stream_event" && data.type === "output_text_delta") deltas += 1;
};
const result = await runWithDesk(agent, "Refund", desk, { threadId, onEvent });
const fatal = await failure(runWithDesk(agent, "Refund", desk, { threadId, onEvent: () => {} }));
tell({ refused, fatal, deltas, last: result.finalOutput });
