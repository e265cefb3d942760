// An AI SDK agent with a scripted model. The code of the docs page replaces the marked line.
import { MockLanguageModelV4 } from "ai/test";
import { CHANGED, DROP, QUESTION, REFUND, drop, idOf, refund, tell, threadId } from "./shared.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const step = (content, unified) => ({ content, finishReason: { unified }, usage, warnings: [] });
const call = (toolName, input, id = toolName) => ({
  type: "tool-call",
  toolCallId: idOf(id),
  toolName,
  input: JSON.stringify(input),
});
const steps = [
  step([call("refund", REFUND), call("drop", DROP), call("askHuman", QUESTION)], "tool-calls"),
  // As it is told, it makes the call again as it was approved; once more, and people are asked again.
  step([call("refund", CHANGED, "again")], "tool-calls"),
  step([call("refund", CHANGED, "more")], "tool-calls"),
  step([{ type: "text", text: "done" }], "stop"),
];
const read = [];
const model = new MockLanguageModelV4({
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
