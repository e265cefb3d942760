// What the OpenAI Agents SDK for JavaScript does at a pause, without Pausepoint.
import { readFileSync } from "node:fs";
import { Agent, RunState, Usage, run, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { REFUND, drop, effects, look, meeting, refund, tell, twice } from "./shared.mjs";

setTracingDisabled(true);
const status = "completed";
const call = (name, input) => ({
  type: "function_call",
  callId: `call-${name}`,
  name,
  status,
  arguments: JSON.stringify(input),
});
const calls = [call("refund", REFUND), call("drop", { table: "orders" }), call("look", { order: "4711" })];
const text = { type: "message", role: "assistant", status, content: [{ type: "output_text", text: "done" }] };
const modelOf = (...steps) => ({
  getResponse: async () => ({ usage: new Usage(), output: steps.shift() }),
  async *getStreamedResponse() {},
});
let asked = 0;
const needsApproval = async () => {
  asked += 1;
  return true;
};
// The agent as each process makes it anew, with what its model says from then on.
const agentOf = (...steps) =>
  new Agent({
    name: "billing",
    model: modelOf(...steps, [text]),
    tools: [
      tool({
        name: "refund",
        description: "Refund.",
        parameters: z.object({ order: z.string(), amount: z.number() }),
        needsApproval,
        execute: async (input) => {
          await meeting();
          return refund(input);
        },
      }),
      tool({ name: "drop", description: "Drop.", parameters: z.object({ table: z.string() }), needsApproval, execute: drop }),
      tool({ name: "look", description: "Look.", parameters: z.object({ order: z.string() }), execute: look }),
    ],
  });
const pause = async () => {
  const { state, interruptions } = await run(agentOf(calls), "go");
  return { stored: state.toString(), ids: interruptions.map(({ rawItem }) => rawItem.callId) };
};
const resume = async ({ stored }, answers, message) => {
  const agent = agentOf();
  const state = await RunState.fromString(agent, stored);
  for (const item of state.getInterruptions()) {
    const approved = answers[item.rawItem.name];
    if (approved) state.approve(item);
    else if (approved === false) state.reject(item, message && { message });
  }
  return await run(agent, state);
};
const outputOf = ({ history }, id) =>
  history.find(({ type, callId }) => type === "function_call_result" && callId === id)?.output.text;

const first = await pause();
const sibling = effects().length ? "before" : "after";
const second = await pause();
const id = first.ids[0] === "call-refund" ? "call" : first.ids[0] === second.ids[0] ? "same" : "new";
asked = 0;
const rejected = outputOf(await resume(first, { refund: true, drop: false }), "call-drop");
const condition = asked ? "again" : "once";
const words = outputOf(await resume(first, { refund: true, drop: false }, "Not today."), "call-drop");
effects();
const { interruptions } = await resume(second, { refund: true });
const ran = effects().length ? "runs and" : "";
const partial = `${ran} ${interruptions.length ? "waits" : "goes on"}`.trim();
const resumers = await twice(() => resume(first, { refund: true, drop: false }));
const { version } = JSON.parse(readFileSync(new URL("node_modules/@openai/agents/package.json", import.meta.url)));
tell({ version, sibling, id, condition, partial, resumers, changed: "none", rejected, words, restart: "state" });
