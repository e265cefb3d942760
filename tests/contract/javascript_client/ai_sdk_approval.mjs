// An agent of the AI SDK 7 with a scripted model and `toolApproval`. The code of the docs page replaces the marked line.
import { Model, call, step } from "./ai_sdk_model.mjs";
import { CHANGED, DROP, QUESTION, REFUND, drop, refund, tell, threadId } from "./shared.mjs";

const steps = [
  step([call("refund", REFUND), call("drop", DROP), call("askHuman", QUESTION)], "tool-calls"),
  // As it is told, it makes the call again as it was approved; once more, and people are asked again.
  step([call("refund", CHANGED, "again")], "tool-calls"),
  step([call("refund", CHANGED, "more")], "tool-calls"),
  step([{ type: "text", text: "done" }], "stop"),
];
const read = [];
const model = new Model({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read.push(Object.fromEntries(content.map(({ toolName, output }) => [toolName, output])));
    return steps.shift();
  },
});
const tools = {
  refund: tool({ inputSchema: z.object({ order: z.string(), amount: z.number() }), execute: refund }),
  drop: tool({ inputSchema: z.object({ table: z.string() }), execute: drop }),
  get askHuman() {
    return askHuman;
  },
};

// THE PAGE

const answers = result.steps.flatMap(({ content }) => content).filter(({ type }) => type === "tool-approval-response");
tell({ read, last: result.text, reasons: answers.map(({ reason }) => reason) });
