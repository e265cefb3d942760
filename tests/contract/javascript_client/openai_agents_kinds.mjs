// Each kind of call that the OpenAI Agents SDK can pause for: `openai_agents_kinds.mjs THREAD FOLDER`. What runs leaves a line.
import { appendFileSync } from "node:fs";
import {
  Agent,
  Usage,
  applyPatchTool,
  computerTool,
  hostedMcpTool,
  setTracingDisabled,
  shellTool,
  tool,
} from "@openai/agents";
import { Desk } from "@pausepoint/client";
import { runWithDesk } from "@pausepoint/client/openai-agents";
import { z } from "zod";
import { REFUND, idOf, tell, threadId } from "./shared.mjs";

setTracingDisabled(true);
const ran = (what) => appendFileSync(`${process.argv[3]}/ran`, `${what}\n`);
const text = (said) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: said }],
});
const call = (name, id, args) => ({
  type: "function_call",
  callId: idOf(id),
  name,
  status: "completed",
  arguments: typeof args === "string" ? args : JSON.stringify(args),
});
const approval = {
  type: "mcp_approval_request",
  id: idOf("mcp"),
  name: "pay",
  server_label: "bank",
  arguments: '{"amount": 5}',
};
const hosted = (providerData, more) => ({ type: "hosted_tool_call", name: providerData.type, providerData, ...more });
const paid = { type: "mcp_call", id: "paid", name: "pay", server_label: "bank", approval_request_id: idOf("mcp") };
const status = "completed";
const patch = (id, operation) => ({ type: "apply_patch_call", callId: idOf(id), status, operation });
// What the model says first, and after the call.
const steps = {
  shell: [[{ type: "shell_call", callId: idOf("shell"), status, action: { commands: ["ls", "-a"], timeoutMs: 50 } }]],
  patch: [[patch("patch", { type: "update_file", path: "a.txt", diff: "+b" })]],
  delete: [[patch("delete", { type: "delete_file", path: "a.txt" })]],
  computer: [[{ type: "computer_call", callId: idOf("computer"), status, action: { type: "wait" } }]],
  mcp: [[hosted(approval, { id: approval.id })], [hosted(paid, { id: "paid", output: "paid 5" })]],
  inner: [[call("clerk", "clerk", { input: "Refund" })]],
  broken: [[call("refund", "broken", '{"order": "4711", "amount": ')]],
};
const modelOf = (script) => ({
  getResponse: async () => ({ usage: new Usage(), output: script.shift() ?? [text("done")] }),
  async *getStreamedResponse() {},
});
const needsApproval = true;
const refund = tool({
  name: "refund",
  description: "Refund.",
  parameters: z.object({ order: z.string(), amount: z.number() }),
  needsApproval,
  execute: ({ order, amount }) => {
    ran(`refund ${order} ${amount}`);
    return `refunded ${amount}`;
  },
});
const edited = (what) => (operation) => {
  ran(`${what} ${operation.path}${operation.diff ? ` ${operation.diff}` : ""}`);
  if (what === "delete") throw new Error("It is in use.");
  return { status, output: what };
};
const clerk = new Agent({ name: "clerk", tools: [refund], model: modelOf([[call("refund", "inner", REFUND)]]) });
const computer = { environment: "browser", dimensions: [8, 8], screenshot: async () => "AAAA", wait: async () => ran("wait") };
for (const name of ["click", "doubleClick", "scroll", "type", "move", "keypress", "drag"]) computer[name] = async () => {};
const tools = [
  shellTool({
    needsApproval,
    shell: {
      run: async ({ commands }) => {
        ran(commands.join(" "));
        return { output: [{ stdout: "listed", stderr: "", outcome: { type: "exit", exitCode: 0 } }] };
      },
    },
  }),
  applyPatchTool({
    needsApproval,
    editor: { createFile: edited("create"), updateFile: edited("update"), deleteFile: edited("delete") },
  }),
  computerTool({ needsApproval, computer }),
  hostedMcpTool({ serverLabel: "bank", serverUrl: "https://bank.invalid", requireApproval: "always" }),
  refund,
  clerk.asTool({ toolName: "clerk", toolDescription: "Ask the clerk." }),
];
const found = {};
for (const [name, [first, then = []]] of Object.entries(steps)) {
  const agent = new Agent({ name: "billing", tools, model: modelOf([first, [...then, text("done")]]) });
  const result = await runWithDesk(agent, "Go", new Desk(), { threadId });
  found[name] = result.newItems.filter(({ type }) => type === "tool_call_output_item").map(({ output }) => output);
}
// The SDK pauses for neither of these, at present.
const { callOf } = await import(new URL("openai-items.js", import.meta.resolve("@pausepoint/client/openai-agents")));
const refusal = (name, rawItem) => {
  try {
    return callOf({ rawItem, name, agent: clerk }, threadId);
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
tell({
  found,
  refusals: [
    refusal("refund", call("refund", "broken", '{"order": ')),
    refusal("shell", { type: "shell_call", callId: "1", action: {} }),
    refusal("program", { type: "program_call", callId: "1", code: "1" }),
  ],
});
