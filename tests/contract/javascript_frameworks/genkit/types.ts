// The types of the adapter fit those of Genkit.
import { gate } from "@pausepoint/client/genkit";
import { genkit, z } from "genkit";

const ai = genkit({});
const inputSchema = z.object({ amount: z.number() });
const refund = ai.defineTool({ name: "refund", description: "Refund.", inputSchema }, async ({ amount }) => amount);
const use = [gate({ tools: ["refund"], asked: { priority: "high" } })];
export const response = ai.generate({ prompt: "Refund", tools: [refund], use });
