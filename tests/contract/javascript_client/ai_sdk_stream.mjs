// A streaming agent of the AI SDK with gated tools: one that fails, and one with preliminary results where the SDK has them.
import { gate } from "@pausepoint/client/ai-sdk";
import * as ai from "ai";
import { z } from "zod";
import { Model, call, step, streamOf } from "./ai_sdk_model.mjs";
import { REFUND, tell, threadId } from "./shared.mjs";

const steps = [
  step([call("refund", REFUND), call("pay", {})], "tool-calls"),
  step([{ type: "text", text: "done" }], "stop"),
];
let read;
const model = new Model({
  doStream: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read = Object.fromEntries(content.map(({ toolName, output }) => [toolName, output]));
    return { stream: streamOf(steps.shift()) };
  },
});
async function* refund({ amount }) {
  yield { refunded: 0 };
  yield { refunded: amount };
}
const last = async (input) => {
  let output;
  for await (const part of refund(input)) output = part;
  return output;
};
const tools = {
  refund: ai.tool({
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    execute: "ToolLoopAgent" in ai ? refund : last,
  }),
  pay: ai.tool({
    inputSchema: z.object({}),
    execute: async () => {
      throw new Error("the bank says no");
    },
  }),
};
const outputs = [];
const result = ai.streamText({
  model,
  prompt: "Refund",
  stopWhen: ai.stepCountIs(3),
  tools: gate(tools, { threadId }),
  onError: () => {},
});
for await (const part of result.fullStream) {
  if (part.type === "tool-result") outputs.push(part.output);
}
tell({ read, outputs, last: await result.text });
