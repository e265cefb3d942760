// What the AI SDK 7 does at a pause, without Pausepoint.
import { readFileSync } from "node:fs";
import * as ai from "ai";
import { z } from "zod";
import { Model, callOf, step } from "./ai_sdk_model.mjs";
import { REFUND, drop, effects, look, meeting, refund, tell, twice } from "./shared.mjs";

const calls = [
  { id: "call-refund", name: "refund", input: REFUND },
  { id: "call-drop", name: "drop", input: { table: "orders" } },
  { id: "call-look", name: "look", input: { order: "4711" } },
];
let prompts = [];
const modelOf = (...steps) =>
  new Model({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      return steps.shift();
    },
  });
const done = step([{ type: "text", text: "done" }], "stop");
let asked = 0;
const asks = async ({ toolCall }) => {
  asked += 1;
  return toolCall.toolName === "look" ? undefined : "user-approval";
};
const tools = {
  refund: ai.tool({
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    execute: async (input) => {
      await meeting();
      return refund(input);
    },
  }),
  drop: ai.tool({ inputSchema: z.object({ table: z.string() }), execute: drop }),
  look: ai.tool({ inputSchema: z.object({ order: z.string() }), execute: look }),
};
const generate = (model, messages) =>
  ai.generateText({ model, tools, messages, toolApproval: asks, stopWhen: ai.stepCountIs(5) });
// The messages as a program stores them for another process, and the requests.
const pause = async () => {
  const start = [{ role: "user", content: "go" }];
  const result = await generate(modelOf(step(calls.map(callOf), "tool-calls")), start);
  const requests = result.content.filter(({ type }) => type === "tool-approval-request");
  const ids = Object.fromEntries(requests.map(({ approvalId, toolCall }) => [toolCall.toolName, approvalId]));
  return { stored: JSON.stringify([...start, ...result.responseMessages]), ids };
};
const resume = ({ stored, ids }, answers, reason) => {
  const content = Object.entries(answers).map(([name, approved]) => ({
    type: "tool-approval-response",
    approvalId: ids[name],
    approved,
    reason: approved ? undefined : reason,
  }));
  prompts = [];
  return generate(modelOf(done, done), [...JSON.parse(stored), { role: "tool", content }]);
};
const outputOf = (id) =>
  prompts
    .at(-1)
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .find(({ toolCallId, output }) => toolCallId === id && output)?.output;

const first = await pause();
const sibling = effects().length ? "before" : "after";
const second = await pause();
const id = first.ids.refund === "call-refund" ? "call" : first.ids.refund === second.ids.refund ? "same" : "new";
asked = 0;
await resume(first, { refund: true, drop: false });
const condition = asked ? "again" : "once";
const rejected = outputOf("call-drop");
await resume(first, { refund: true, drop: false }, "Not today.");
const words = outputOf("call-drop");
effects();
let partial = "runs and goes on";
try {
  await resume(second, { refund: true });
} catch (error) {
  partial = effects().length ? "runs and fails" : "refused";
}
const resumers = await twice(() => resume(first, { refund: true, drop: false }));
const { version } = JSON.parse(readFileSync(new URL("node_modules/ai/package.json", import.meta.url)));
tell({
  version,
  sibling,
  id,
  condition,
  partial,
  resumers,
  changed: "none",
  rejected: rejected.type,
  words: words.reason,
  restart: "messages",
});
