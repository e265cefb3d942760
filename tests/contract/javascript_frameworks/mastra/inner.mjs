// An agent whose sub-agent has gated tools, and makes two calls with one id.
import { Agent } from "@mastra/core/agent";
import { gate } from "@pausepoint/client/mastra";
import { scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, refund } from "./tools.mjs";

const inner = scripted();
const boss = scripted([[[`${threadId}-clerk`, "agent-clerk", { prompt: "Refund" }]]]);
const tools = gate({ refund, drop }, { threadId });
const clerk = new Agent({
  id: "clerk",
  name: "Clerk",
  description: "Refunds.",
  instructions: "Refund.",
  model: inner.model,
  tools,
});
const agent = new Agent({ id: "boss", name: "Boss", instructions: "Delegate.", model: boss.model, agents: { clerk } });
const result = await agent.generate("Refund order 4711", { maxSteps: 5 });
end(inner.read, { last: result.text, reason: result.finishReason, suspended: result.suspendPayload });
