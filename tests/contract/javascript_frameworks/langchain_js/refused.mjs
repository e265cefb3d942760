// What `gate` refuses at once, and what the model reads of results in other forms.
import { ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { gate } from "@pausepoint/client/langchain";
import { tool } from "langchain";
import { z } from "zod";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, refund } from "./tools.mjs";

const refusalOf = (make) => {
  try {
    make();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const refusals = [
  refusalOf(() => gate([refund, drop], { tools: ["refnd"] })),
  refusalOf(() => gate([refund, drop], { tools: [] })),
  refusalOf(() => gate([refund, { name: "hosted", type: "web_search" }])),
];
const schema = z.object({ amount: z.number() });
const forms = {
  artifact: tool(() => ["paid", { receipt: 1 }], {
    name: "artifact",
    description: "Pay.",
    schema,
    responseFormat: "content_and_artifact",
  }),
  message: tool((_, { toolCall }) => new ToolMessage({ content: "paid", tool_call_id: toolCall.id }), {
    name: "message",
    description: "Pay.",
    schema,
  }),
  command: tool(
    (_, { toolCall }) => {
      const message = new ToolMessage({ content: "paid", tool_call_id: toolCall.id });
      return new Command({ update: { messages: [message] } });
    },
    { name: "command", description: "Pay.", schema },
  ),
  parts: tool(
    async function* () {
      yield "half";
      return "paid";
    },
    { name: "parts", description: "Pay.", schema },
  ),
};
const call = (name) => ({ type: "tool_call", id: name, name, args: { amount: 5 } });
const config = { configurable: { thread_id: threadId } };
const invoke = (gated) => gated.invoke(call(gated.name), config);
const made = await Promise.all(gate(Object.values(forms)).map(invoke));
const again = await Promise.all(gate(Object.values(forms)).map(invoke));
const messageOf = (result) => result.update?.messages[0] ?? result;
end(
  made.map((result) => messageOf(result).content),
  {
    refusals,
    again: again.map((result) => messageOf(result).content),
    artifact: messageOf(made[0]).artifact,
  },
);
