// An agent of the AI SDK 5, 6 or 7 with a scripted model and gated tools. The code of the docs page replaces the marked line.
import { Model, call, callOf, step } from "./ai_sdk_model.mjs";
import { DROP, QUESTION, REFUND, drop, look, messages, reads, refund, tell, threadId } from "./shared.mjs";

const steps = [
  ...(messages()?.map((calls) => step(calls.map(callOf), "tool-calls")) ?? [
    step([call("refund", REFUND), call("drop", DROP), call("askHuman", QUESTION)], "tool-calls"),
  ]),
  step([{ type: "text", text: "done" }], "stop"),
];
let read;
const model = new Model({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read = Object.fromEntries(content.map(({ toolName, output }) => [toolName, output]));
    if (role === "tool") for (const { output } of content) reads(output.value);
    return steps.shift();
  },
});
const tools = {
  refund: tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: refund }),
  drop: tool({ inputSchema: z.object({ table: z.string() }), execute: drop }),
  look: tool({ inputSchema: z.object({ order: z.string() }), execute: look }),
  get askHuman() {
    return askHuman;
  },
};

// THE PAGE

tell({ read, last: result.text });
