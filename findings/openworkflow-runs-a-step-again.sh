#!/usr/bin/env bash
# OpenWorkflow: a run pays in a step of 0.3 seconds and, beside it (`Promise.all`), waits for a person's answer by `waitForSignal`. The payment
# ends, and the person answers after that.
# Guess: the result of the step is stored when it ends, as that of every step, and the run goes on with it after the answer.
# Seen: the wait releases its run at once, also while a step of it runs, and what that step returns is stored nowhere: its attempt stays
# "running". After the answer the run finds no result, so it pays a second time. Nothing fails, and the run completes. The same with `sleep`
# in place of the wait. It works one after the other, without `Promise.all`.
# Fails if that has changed. (Some seconds, in memory.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' >package.json
# The database in memory needs a newer Node.js than Debian 12 has.
npm install --silent --no-audit --no-fund openworkflow@0.10.1 node@22.23.3 2>/dev/null
cat >run.mjs <<'JS'
import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { OpenWorkflow } from "openworkflow";
import { BackendSqlite } from "openworkflow/sqlite";

const backend = BackendSqlite.connect(":memory:");
const desk = new OpenWorkflow({ backend });
const payments = {};
const pay = (step, name) => step.run({ name: "pay" }, async () => {
  await pause(300);
  return (payments[name] = (payments[name] ?? 0) + 1);
});
const answer = (step, name) => step.waitForSignal({ name: "answer", signal: name });

const workflows = {
  beside: ({ input, step }) => Promise.all([pay(step, input), answer(step, input)]),
  "beside a sleep": ({ input, step }) => Promise.all([pay(step, input), step.sleep("a moment", "1s")]),
  "one after the other": async ({ input, step }) => [await pay(step, input), await answer(step, input)],
};

const defined = Object.entries(workflows).map(([name, workflow]) => [name, desk.defineWorkflow({ name }, workflow)]);
const worker = desk.newWorker();
await worker.start();
const seen = {};
for (const [name, workflow] of defined) {
  const run = await workflow.run(name);
  const attempts = async () => (await backend.listStepAttempts({ workflowRunId: run.workflowRun.id })).data;
  while (!payments[name]) await pause(20);
  if (name !== "beside a sleep") while (!(await desk.sendSignal({ signal: name, data: "yes" })).workflowRunIds.length) await pause(20);
  const { length } = await run.result({ timeoutMs: 20000 });
  const states = (await attempts()).filter((attempt) => attempt.stepName === "pay").map((attempt) => attempt.status);
  seen[name] = { results: length, payments: payments[name], attempts: states.sort() };
}
await worker.stop();
await backend.stop();
console.log("openworkflow 0.10.1 expected one payment in each run; seen", seen);
const twice = { results: 2, payments: 2, attempts: ["completed", "running"] };
assert.deepEqual(seen, {
  beside: twice,
  "beside a sleep": twice,
  "one after the other": { results: 2, payments: 1, attempts: ["completed"] },
});
JS
node_modules/.bin/node --no-warnings run.mjs
