// An agent of the AI SDK whose gated tools are named wrongly, or not at all: what is said before any call runs.
import { gate, pausepoint } from "@pausepoint/client/ai-sdk";
import * as ai from "ai";
import { z } from "zod";
import { Model, call, step } from "./ai_sdk_model.mjs";
import { REFUND, refund, tell, threadId } from "./shared.mjs";

const tools = {
  refund: ai.tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: refund }),
};
const generate = async (given) => {
  const steps = [step([call("refund", REFUND)], "tool-calls"), step([{ type: "text", text: "done" }], "stop")];
  const model = new Model({ doGenerate: async () => steps.shift() });
  const { text } = await ai.generateText({ model, prompt: "Refund", stopWhen: ai.stepCountIs(3), ...given() });
  return text;
};
const said = (given) => generate(given).catch((error) => `${error.name}: ${error.message}`);
const gated = (names) => () => ({ tools: gate(tools, { tools: names, threadId }) });
const approved = (names) => () => ({ tools, toolApproval: pausepoint({ tools: names, threadId }) });
tell({
  gate: [await said(gated(["refnd"])), await said(gated([]))],
  approval: [await said(approved(["refnd"])), await said(approved([]))],
  unnamed: await said(gated(undefined)),
});
