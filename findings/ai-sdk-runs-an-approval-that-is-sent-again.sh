#!/usr/bin/env bash
# AI SDK: a program stores the messages of a conversation. People approve one call and reject another one in the same message, the agent goes on,
# and its messages, with the result and the denial, are stored too. Then an answer is added again, as by a webhook that is delivered twice.
# Guess: a call that has a result in the history is done, so a repeated yes changes nothing, and a late yes to the rejected call is refused.
# Seen: the repeated yes pays a second time, and the late yes runs the call whose denial the model has read, both without an error. It is the
# same with generateText and streamText, in 6 and in 7. A late no to a call that has run changes nothing.
# To be safe, store that a request is answered, in one statement, and add its answer to the messages only if that was the first one.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund node@22.23.3 zod@4.6.7 ai6@npm:ai@6.0.326 ai7@npm:ai@7.0.173 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import * as ai6 from "ai6";
import * as test6 from "ai6/test";
import * as ai7 from "ai7";
import * as test7 from "ai7/test";
import { z } from "zod";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const calls = ["pay A", "pay B"].map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "pay", input: "{}" }));
const text = [{ type: "text", text: "done" }];
let ran = [];

// A model that calls both tools once, and is done when it sees their calls.
const answer = ({ prompt }) => {
  const asked = prompt.some(({ role }) => role === "assistant");
  return { content: asked ? text : calls, finishReason: { unified: asked ? "stop" : "tool-calls" }, usage, warnings: [] };
};
const streamed = (options) => {
  const { content, finishReason } = answer(options);
  const parts = content.flatMap((part) =>
    part.type === "text"
      ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: part.text }, { type: "text-end", id: "t" }]
      : [part],
  );
  const chunks = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
  return { stream: new ReadableStream({ start: (to) => (chunks.forEach((chunk) => to.enqueue(chunk)), to.close()) }) };
};
const versions = {
  6: { ai: ai6, Model: test6.MockLanguageModelV3, gate: { needsApproval: true }, options: {} },
  7: { ai: ai7, Model: test7.MockLanguageModelV4, gate: {}, options: { toolApproval: { pay: "user-approval" } } },
};
const kinds = {
  generateText: async (ai, options) => {
    const result = await ai.generateText(options);
    return { content: result.content, messages: result.responseMessages ?? result.response.messages };
  },
  streamText: async (ai, options) => {
    const result = ai.streamText(options);
    await result.consumeStream();
    return { content: await result.content, messages: (await result.responseMessages) ?? (await result.response).messages };
  },
};

async function look({ ai, Model, gate, options }, run) {
  const execute = async (_input, { toolCallId }) => ran.push(toolCallId);
  const tools = { pay: ai.tool({ inputSchema: z.object({}), execute, ...gate }) };
  const model = new Model({ doGenerate: async (given) => answer(given), doStream: async (given) => streamed(given) });
  const go = async (messages) => {
    ran = [];
    const { content, messages: more } = await run(ai, { model, tools, messages, stopWhen: ai.stepCountIs(5), ...options });
    return { content, messages: JSON.parse(JSON.stringify([...messages, ...more])) };
  };
  const paused = await go([{ role: "user", content: "Pay" }]);
  const requests = paused.content.filter(({ type }) => type === "tool-approval-request");
  const [a, b] = requests.map(({ approvalId }) => approvalId);
  const answers = (...content) => ({ role: "tool", content });
  const response = (approvalId, approved) => ({ type: "tool-approval-response", approvalId, approved });
  const ended = await go([...paused.messages, answers(response(a, true), response(b, false))]);
  const seen = { "the answers": [...ran] };
  const later = { "the same yes": response(a, true), "a late yes to the rejected": response(b, true), "a late no": response(a, false) };
  for (const [name, each] of Object.entries(later)) {
    await go([...ended.messages, answers(each)]);
    seen[name] = [...ran];
  }
  return seen;
}

for (const [version, library] of Object.entries(versions)) {
  for (const [kind, run] of Object.entries(kinds)) {
    const seen = await look(library, run);
    console.log(`ai ${version}, ${kind}, expected to run nothing after the answers; ran:`, JSON.stringify(seen));
    assert.deepEqual(seen, {
      "the answers": ["pay A"],
      "the same yes": ["pay A"],
      "a late yes to the rejected": ["pay B"],
      "a late no": [],
    });
  }
}
JAVASCRIPT
node_modules/.bin/node look.mjs
