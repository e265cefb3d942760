// An agent of VoltAgent with a scripted model. The code of the docs page replaces the marked line.
import { MockLanguageModelV3 } from "ai/test";
import { end, messages } from "./script.mjs";
import { refund as refundOrder, threadId } from "./shared.mjs";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const steps = messages();
const read = [];
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read.push(...content.map(({ output }) => output.value));
    const calls = steps.shift();
    const parts = calls?.map(([toolCallId, toolName, input]) => ({
      type: "tool-call",
      toolCallId,
      toolName,
      input: JSON.stringify(input),
    }));
    const reason = parts ? "tool-calls" : "stop";
    return { content: parts ?? [{ type: "text", text: "done" }], finishReason: { unified: reason }, usage, warnings: [] };
  },
});

// THE PAGE

end(read, { last: result.text });
// VoltAgent keeps timers.
process.exit();
