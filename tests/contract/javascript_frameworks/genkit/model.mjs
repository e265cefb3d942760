// A scripted model: the calls of the script, message by message, and then "done".
import { messages } from "./script.mjs";

export const scripted = (ai, steps = messages(), name = "scripted") => {
  const read = [];
  const model = ai.defineModel({ name, supports: { tools: true, multiturn: true } }, async (request) => {
    const { role, content } = request.messages.at(-1);
    if (role === "tool") read.push(...content.map(({ toolResponse }) => toolResponse.output));
    const calls = steps.shift();
    if (!calls) return { message: { role: "model", content: [{ text: "done" }] }, finishReason: "stop" };
    const parts = calls.map(([ref, tool, input]) => ({ toolRequest: { name: tool, input, ...(ref ? { ref } : {}) } }));
    return { message: { role: "model", content: parts }, finishReason: "stop" };
  });
  return { model, read };
};
