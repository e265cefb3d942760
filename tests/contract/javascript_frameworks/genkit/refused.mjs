// What `gate` refuses, and a call that waits while another one of its message ends the run.
import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Desk } from "@pausepoint/client";
import { gate } from "@pausepoint/client/genkit";
import { genkit, z } from "genkit";
import { scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { REFUND, threadId } from "./shared.mjs";
import { toolsOf } from "./tools.mjs";

const ai = genkit({});
const desk = new Desk();
const { refund } = toolsOf(ai);
let request;
const broken = ai.defineTool({ name: "broken", description: "Breaks.", inputSchema: z.object({}) }, async () => {
  while (!request) [request] = await desk.list({ thread: threadId });
  throw new Error("the bank says no");
});
const refusalOf = async (steps, name, options) => {
  try {
    const { model } = scripted(ai, steps, name);
    await ai.generate({ model, prompt: "Refund", tools: [refund, broken], use: [gate(options())] });
    return "";
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const refusals = [
  await refusalOf([], "unknown", () => ({ tools: ["refnd"] })),
  await refusalOf([], "empty", () => ({ tools: [] })),
  await refusalOf([[["r", "refund", REFUND], ["b", "broken", {}]]], "breaks", () => ({ tools: ["refund"], threadId })),
];
appendFileSync(process.env.EFFECTS, "waits for the decision\n");
await desk.wait(request.id);
// As long as a process would take to claim the call and to run it.
await setTimeout(1000);
end([], { refusals });
