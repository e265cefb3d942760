// The types of the adapter fit those of Mastra.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { gate } from "@pausepoint/client/mastra";
import { z } from "zod";

const inputSchema = z.object({ amount: z.number() });
const refund = createTool({ id: "refund", description: "Refund.", inputSchema, execute: async ({ amount }) => amount });
const tools = gate({ refund }, { tools: ["refund"], asked: { priority: "high" } });
export const agent = new Agent({ id: "billing", name: "Billing", instructions: "Refund.", model: "openai/gpt-5", tools });
