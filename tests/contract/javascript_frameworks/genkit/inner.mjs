// A tool that runs another `generate`, which has a gate.
import { gate } from "@pausepoint/client/genkit";
import { genkit, z } from "genkit";
import { scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { toolsOf } from "./tools.mjs";

const ai = genkit({});
const inner = scripted(ai);
const boss = scripted(ai, [[["c", "clerk", {}]]], "boss");
const { refund, drop } = toolsOf(ai);
const generate = (model, tools, use) => ai.generate({ model, prompt: "Refund order 4711", tools, use });
const clerk = ai.defineTool({ name: "clerk", description: "Refunds.", inputSchema: z.object({}) }, async () => {
  const { text } = await generate(inner.model, [refund, drop], [gate({ threadId })]);
  return text;
});
const { text } = await generate(boss.model, [clerk]);
end(inner.read, { last: text });
