// Gated tools whose schemas make other values than JSON: one that JSON does not carry, and one that it carries.
import { gate } from "@pausepoint/client/ai-sdk";
import * as ai from "ai";
import { z } from "zod";
import { Model, call, step } from "./ai_sdk_model.mjs";
import { tell, threadId } from "./shared.mjs";

const steps = [
  step([call("tag", { ids: ["a", "b"] }), call("pay", { euros: 5 })], "tool-calls"),
  step([{ type: "text", text: "done" }], "stop"),
];
let read;
const model = new Model({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read = Object.fromEntries(content.map(({ toolName, output }) => [toolName, output]));
    return steps.shift();
  },
});
const seen = [];
const execute = (input) => {
  seen.push(input);
  return "ran";
};
const tools = {
  tag: ai.tool({ inputSchema: z.object({ ids: z.array(z.string()).transform((ids) => new Set(ids)) }), execute }),
  pay: ai.tool({ inputSchema: z.object({ euros: z.number().transform((euros) => euros * 100) }), execute }),
};
const result = await ai.generateText({
  model,
  prompt: "Pay",
  stopWhen: ai.stepCountIs(3),
  tools: gate(tools, { threadId }),
});
tell({ read, seen, last: result.text });
