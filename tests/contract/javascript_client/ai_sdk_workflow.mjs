// A WorkflowAgent with a scripted model: how it treats a toolApproval, whether pausepoint refuses to be one, and gated tools.
import { WorkflowAgent } from "@ai-sdk/workflow";
import { gate, pausepoint } from "@pausepoint/client/ai-sdk";
import { tool } from "ai";
import { z } from "zod";
import { Model, call, step, streamOf } from "./ai_sdk_model.mjs";
import { CHANGED, REFUND, refund, tell, threadId } from "./shared.mjs";

const tools = { refund: tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: refund }) };

async function run(input, options) {
  const steps = [step([call("refund", input)], "tool-calls"), step([{ type: "text", text: "done" }], "stop")];
  const model = new Model({ doStream: async () => ({ stream: streamOf(steps.shift()) }) });
  const agent = new WorkflowAgent({ model, tools, ...options });
  const { messages } = await agent.stream({ messages: [{ role: "user", content: "Refund" }], writable: new WritableStream() });
  return messages.findLast(({ role }) => role === "tool").content[0].output;
}

let refused = "";
try {
  pausepoint({ threadId });
} catch (error) {
  refused = error.message;
}
let asked = 0;
const toolApproval = async () => {
  asked += 1;
  return "denied";
};
await run(CHANGED, { toolApproval });
const read = await run(REFUND, { tools: gate(tools, { threadId }) });
tell({ refused, asked, read });
