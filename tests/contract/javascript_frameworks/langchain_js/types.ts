// The types of the adapter fit those of LangChain.
import { gate } from "@pausepoint/client/langchain";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const schema = z.object({ amount: z.number() });
const refund = tool(({ amount }) => `${amount}`, { name: "refund", description: "Refund.", schema });
const look = tool(() => "order", { name: "look", description: "Look.", schema: z.object({ order: z.string() }) });
const tools = gate([refund, look], { tools: ["refund"], asked: { priority: "high" } });
export const agent = createAgent({ model: "openai:gpt-5", tools });
