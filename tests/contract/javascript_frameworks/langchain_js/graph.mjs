// A graph with its own ToolNode, and an agent in a tool of another one. Both have gated tools.
import { HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { gate } from "@pausepoint/client/langchain";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { Scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, look, refund } from "./tools.mjs";

const model = new Scripted();
const tools = gate([refund, drop, look], { tools: ["refund", "drop"] });
const hasCalls = ({ messages }) => (messages.at(-1).tool_calls?.length ? "tools" : END);
const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tools", new ToolNode(tools))
  .addEdge(START, "agent")
  .addConditionalEdges("agent", hasCalls)
  .addEdge("tools", "agent")
  .compile();
const clerk = tool(
  async () => {
    const { messages } = await graph.invoke({ messages: [new HumanMessage("Refund")] });
    return messages.at(-1).content;
  },
  { name: "clerk", description: "Refunds.", schema: z.object({}) },
);
const boss = createAgent({ model: new Scripted([[[`${threadId}-clerk`, "clerk", {}]]]), tools: [clerk] });
const result = await boss.invoke(
  { messages: [{ role: "user", content: "Refund order 4711" }] },
  { configurable: { thread_id: threadId } },
);
end(model.read, { last: result.messages.at(-1).content, halted: result.__interrupt__?.[0].value.halted });
