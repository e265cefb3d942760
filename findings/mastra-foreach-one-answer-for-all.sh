#!/usr/bin/env bash
# Mastra: a workflow asks people about each payment of a list with `.foreach(pay, { concurrency })`, and each of them suspends.
# Guess: an answer resumes one payment, the one that the result of the run shows as suspended, or it is refused as ambiguous. Seen: the run
# shows the first payment only, and one answer without `forEachIndex` resumes every one that has suspended: people read "A, 5", say yes, and A, B
# and C are paid. With a smaller concurrency, an answer counts for as many as run side by side. `forEachIndex` limits it to one, also to one that
# has not asked yet: it is paid without a question.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 @mastra/core@1.71.0 zod@4.6.7 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Mastra } from "@mastra/core";
import { InMemoryStore } from "@mastra/core/storage";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { z } from "zod";

const payment = z.object({ id: z.string(), amount: z.number() });
const PAYMENTS = [
  { id: "A", amount: 5 },
  { id: "B", amount: 50000 },
  { id: "C", amount: 7 },
];

// Start the workflow and give the answers in turn; return what people are shown before each, and what it pays.
async function outcome(concurrency, ...answers) {
  let paid = [];
  const pay = createStep({
    id: "pay",
    inputSchema: payment,
    outputSchema: payment,
    suspendSchema: payment,
    resumeSchema: z.object({ approved: z.boolean() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (!resumeData) {
        return await suspend(inputData);
      }
      if (resumeData.approved) {
        paid.push(inputData.id);
      }
      return inputData;
    },
  });
  const list = z.array(payment);
  const payAll = createWorkflow({ id: "payAll", inputSchema: list, outputSchema: list }).foreach(pay, { concurrency }).commit();
  const mastra = new Mastra({ workflows: { payAll }, storage: new InMemoryStore(), logger: false });
  const run = await mastra.getWorkflow("payAll").createRun();
  let state = await run.start({ inputData: PAYMENTS });
  const steps = [];
  for (const { approved, ...index } of answers) {
    const shown = state.suspendPayload.pay.id;
    paid = [];
    state = await run.resume({ step: "pay", resumeData: { approved }, ...index });
    steps.push({ shown, paid: paid.join(""), then: state.status });
  }
  return steps;
}

const yes = { approved: true };
const no = { approved: false };
const seen = {
  "three at once": await outcome(3, yes),
  "two at once": await outcome(2, yes, no),
  "one at a time": await outcome(1, yes, no, yes),
  "by index": await outcome(3, { ...yes, forEachIndex: 1 }, { ...no, forEachIndex: 0 }, { ...yes, forEachIndex: 2 }),
  "index that has not asked": await outcome(2, { ...yes, forEachIndex: 2 }),
};
const { version } = JSON.parse(readFileSync("node_modules/@mastra/core/package.json", "utf8"));
console.log("@mastra/core", version, "expected one payment for each yes, seen", JSON.stringify(seen));
assert.deepEqual(seen, {
  "three at once": [{ shown: "A", paid: "ABC", then: "success" }],
  "two at once": [
    { shown: "A", paid: "AB", then: "suspended" },
    { shown: "C", paid: "", then: "success" },
  ],
  "one at a time": [
    { shown: "A", paid: "A", then: "suspended" },
    { shown: "B", paid: "", then: "suspended" },
    { shown: "C", paid: "C", then: "success" },
  ],
  "by index": [
    { shown: "A", paid: "B", then: "suspended" },
    { shown: "A", paid: "", then: "suspended" },
    { shown: "C", paid: "C", then: "success" },
  ],
  "index that has not asked": [{ shown: "A", paid: "C", then: "suspended" }],
});
JAVASCRIPT
node_modules/.bin/node look.mjs
