#!/usr/bin/env bash
# Genkit for JavaScript: the model makes two calls of one tool in one message, as Gemini does, without ids. The first one waits longer for its
# answer than the second one.
# Guess: the model reads the results in the order of its calls, since nothing else says which call a result belongs to. Seen: they are sent in
# the order in which the tools end, also by the plugin for Gemini. The calls keep their order in the history, so the model reads that A was paid
# and B was rejected, while it is the other way round.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --ignore-scripts --no-audit --no-fund genkit@1.42.0 @genkit-ai/google-genai@1.42.0 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { googleAI } from "@genkit-ai/google-genai";
import { genkit, z } from "genkit";

// In place of Gemini: two calls without ids, and then a text. It keeps what it is sent.
const sent = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) {
    body += part;
  }
  const { contents } = JSON.parse(body);
  sent.push(contents);
  const calls = ["A", "B"].map((name) => ({ functionCall: { name: "pay", args: { name } } }));
  const parts = contents.length === 1 ? calls : [{ text: "done" }];
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts } }] }));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const ai = genkit({ plugins: [googleAI({ apiKey: "none", baseUrl })] });

// The person answers B first: yes; and then A: no.
let answerA;
const waits = new Promise((resolve) => {
  answerA = resolve;
});
const pay = ai.defineTool({ name: "pay", description: "Pay.", inputSchema: z.object({ name: z.string() }) }, async ({ name }) => {
  if (name === "A") {
    await waits;
    return "rejected";
  }
  setTimeout(answerA, 50);
  return "paid";
});
await ai.generate({ model: googleAI.model("gemini-2.5-flash"), prompt: "Pay A and B", tools: [pay] });
server.close();

const [, calls, results] = sent.at(-1);
const seen = {
  calls: calls.parts.map(({ functionCall }) => functionCall.args.name),
  results: results.parts.map(({ functionResponse }) => functionResponse.response.content),
  ids: results.parts.map(({ functionResponse }) => functionResponse.id ?? null),
};
const { version } = JSON.parse(readFileSync("node_modules/genkit/package.json", "utf8"));
console.log("genkit", version, "expected rejected, paid; seen", JSON.stringify(seen));
assert.deepEqual(seen, { calls: ["A", "B"], results: ["paid", "rejected"], ids: [null, null] });
JAVASCRIPT
node look.mjs
