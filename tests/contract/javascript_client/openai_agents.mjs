// An agent of the OpenAI Agents SDK with a scripted model. The code of the docs page replaces the marked line.
import { Agent, Usage, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { CHANGED, DROP, REFUND, asks, drop, idOf, look, messages, reads, refund, tell, threadId } from "./shared.mjs";

setTracingDisabled(true);
const call = (name, input, id = idOf(name)) => ({
  type: "function_call",
  callId: id,
  name,
  status: "completed",
  arguments: JSON.stringify(input),
});
const text = {
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "done" }],
};
// As it is told, it makes the call again as it was approved; once more, and people are asked again.
const steps = messages()?.map((calls) => calls.map(({ id, name, input }) => call(name, input, id))) ?? [
  [call("refund", REFUND), call("drop", DROP)],
  [call("refund", CHANGED, idOf("again"))],
  [call("refund", CHANGED, idOf("more"))],
];
steps.push([text]);
const read = [];
const model = {
  getResponse: async ({ input }) => {
    const outputs = input.filter(({ type }) => type === "function_call_result");
    if (outputs.length)
      read.push(Object.fromEntries(outputs.map(({ callId, output }) => [callId.split("-").at(-1), output.text])));
    return { usage: new Usage(), output: steps.shift() };
  },
  async *getStreamedResponse() {},
};
const needsApproval = process.env.CALM ? async () => asks() : true;
const agent = new Agent({
  name: "billing",
  instructions: "Refund.",
  model,
  tools: [
    tool({
      name: "refund",
      description: "Refund.",
      parameters: z.object({ order: z.string(), amount: z.number() }),
      needsApproval,
      execute: refund,
    }),
    tool({
      name: "drop",
      description: "Drop.",
      parameters: z.object({ table: z.string() }),
      needsApproval,
      execute: drop,
    }),
    tool({ name: "look", description: "Look.", parameters: z.object({ order: z.string() }), execute: look }),
  ],
});

// THE PAGE

for (const { output } of result.history.filter(({ type }) => type === "function_call_result")) reads(output.text);
tell({ read: read.at(-1), last: result.finalOutput });
