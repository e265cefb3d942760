// An agent of the AI SDK whose gated tool runs another agent, with and without a gate of its own.
import { gate } from "@pausepoint/client/ai-sdk";
import * as ai from "ai";
import { z } from "zod";
import { Model, call, step } from "./ai_sdk_model.mjs";
import { REFUND, refund, tell, threadId } from "./shared.mjs";

const generate = async (tools, name, input, id) => {
  const steps = [step([call(name, input, id)], "tool-calls"), step([{ type: "text", text: "done" }], "stop")];
  const model = new Model({ doGenerate: async () => steps.shift() });
  const { text } = await ai.generateText({ model, prompt: "Refund", stopWhen: ai.stepCountIs(3), tools });
  return text;
};
const tools = {
  refund: ai.tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: refund }),
};
const run = (inner, id) => {
  const execute = () => generate(inner, "refund", REFUND, id);
  const clerk = ai.tool({ inputSchema: z.object({}), execute });
  return generate(gate({ clerk }, { threadId }), "clerk", {}, `clerk-${id}`);
};
tell({ without: await run(tools, "without"), with: await run(gate(tools, { threadId }), "with") });
