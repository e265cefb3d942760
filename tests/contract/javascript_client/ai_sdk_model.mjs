// A scripted model for the AI SDK 5, 6 and 7, whose models have different interfaces.
import * as test from "ai/test";
import { idOf } from "./shared.mjs";

const isOld = !("MockLanguageModelV3" in test);
const usage = isOld
  ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  : { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
export const Model = test.MockLanguageModelV4 ?? test.MockLanguageModelV3 ?? test.MockLanguageModelV2;
export const step = (content, reason) => ({ content, finishReason: finished(reason), usage, warnings: [] });
const finished = (reason) => (isOld ? reason : { unified: reason });
export const call = (toolName, input, id = toolName) => ({
  type: "tool-call",
  toolCallId: idOf(id),
  toolName,
  input: JSON.stringify(input),
});
// A call of a script.
export const callOf = ({ id, name, input }) => ({
  type: "tool-call",
  toolCallId: id,
  toolName: name,
  input: JSON.stringify(input),
});
// The parts of a stream that is this step.
export const streamOf = ({ content, finishReason }) =>
  new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      for (const part of content) {
        if (part.type === "tool-call") controller.enqueue(part);
        else {
          controller.enqueue({ type: "text-start", id: "t" });
          controller.enqueue({ type: "text-delta", id: "t", delta: part.text });
          controller.enqueue({ type: "text-end", id: "t" });
        }
      }
      controller.enqueue({ type: "finish", finishReason, usage });
      controller.close();
    },
  });
