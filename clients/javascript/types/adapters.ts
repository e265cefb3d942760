/** The types of the adapters fit those of the AI SDK, LangGraph and the OpenAI Agents SDK; checked by `npm run check`. */

import { tool as langchainTool } from "@langchain/core/tools";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { Agent } from "@openai/agents";
import { generateText, ToolLoopAgent, tool } from "ai";
import type { LanguageModel } from "ai";
import { z } from "zod";
import { gate, pausepoint } from "../src/ai-sdk.js";
import type { Desk } from "../src/index.js";
import { gate as gateLangchain } from "../src/langchain.js";
import { runWithDesk } from "../src/openai-agents.js";

export function aiSdk(model: LanguageModel): unknown[] {
  const approval = pausepoint({ tools: ["refund"], asked: { priority: "high" } });
  const tools = { refund: tool({ inputSchema: z.object({ amount: z.number() }), execute: ({ amount }) => amount }) };
  return [
    generateText({ model, prompt: "Refund", tools, toolApproval: approval, onToolExecutionEnd: approval.report }),
    new ToolLoopAgent({ model, tools, toolApproval: approval, onToolExecutionEnd: approval.report }),
    generateText({ model, prompt: "Refund", tools: gate(tools, { tools: ["refund"], asked: { priority: "high" } }) }),
  ];
}

export async function openaiAgents(desk: Desk): Promise<string | undefined> {
  const agent = new Agent<{ user: string }>({ name: "billing" });
  const options = { threadId: "t", run: { context: { user: "alice" }, maxTurns: 3 } };
  return (await runWithDesk(agent, "Refund", desk, options)).finalOutput;
}

export function langgraph(): ToolNode {
  const schema = z.object({ amount: z.number() });
  const refund = langchainTool(({ amount }) => amount, { name: "refund", description: "Refund.", schema });
  return new ToolNode(gateLangchain([refund], { tools: ["refund"], asked: { priority: "high" } }));
}
