// A scripted model for Mastra: the calls of the script, message by message, and then "done".
import { messages } from "./script.mjs";

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

export const scripted = (steps = messages()) => {
  const read = [];
  const next = ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    if (role === "tool") read.push(...content.map(({ output }) => output.value));
    const calls = steps.shift();
    if (!calls) return [{ type: "text", text: "done" }];
    return calls.map(([toolCallId, toolName, input]) => ({
      type: "tool-call",
      toolCallId,
      toolName,
      input: JSON.stringify(input),
    }));
  };
  const reasonOf = (content) => (content[0].type === "text" ? "stop" : "tool-calls");
  const parts = (content) => [
    { type: "stream-start", warnings: [] },
    ...content.flatMap((part) =>
      part.type === "text"
        ? [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: part.text },
            { type: "text-end", id: "t" },
          ]
        : [part],
    ),
    { type: "finish", finishReason: reasonOf(content), usage },
  ];
  const model = {
    specificationVersion: "v2",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (options) => {
      const content = next(options);
      return { content, finishReason: reasonOf(content), usage, warnings: [] };
    },
    doStream: async (options) => {
      const all = parts(next(options));
      const start = (controller) => {
        for (const part of all) controller.enqueue(part);
        controller.close();
      };
      return { stream: new ReadableStream({ start }) };
    },
  };
  return { model, read };
};
