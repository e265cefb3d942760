#!/usr/bin/env bash
# Absurd (durable tasks in PostgreSQL): a task waits an hour for the employee's answer, catches the time-out, tells the manager in a step, and
# waits for the manager, who says yes.
# Guess: a wait that has timed out has ended, as in other engines that replay: its outcome is stored with the steps, and the manager decides.
# Seen: only events are stored. Each later run waits for the employee anew: with the manager's yes in its database the task sleeps for
# another hour, and an employee who says no in that hour, after the manager's yes, decides, although the manager was told. It is the same
# with a name for the wait (`stepName`). If a step stores how the wait ended, the manager's yes counts at once.
# Fails if that has changed. (Some seconds: the database runs in the process, and its clock is set by hand.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check absurdctl==0.5.1
venv/bin/python -c 'import absurdctl; print(absurdctl.BUNDLED_SCHEMA_SQL)' >absurd.sql
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund absurd-sdk@0.5.0 @electric-sql/pglite@0.5.17 2>/dev/null
cat >run.mjs <<'JS'
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { Absurd, TimeoutError } from "absurd-sdk";

const database = new PGlite();
await database.exec(readFileSync("absurd.sql", "utf8"));
const desk = new Absurd({ db: database });
await desk.createQueue();

let minutes = 0;
const at = async (minute) => {
  minutes = minute;
  const time = new Date(Date.UTC(2027, 0, 4, 9, minute)).toISOString();
  await database.query("select set_config('absurd.fake_now', $1, false)", [time]);
};

const told = [];
async function employee(id, context, options) {
  try {
    return await context.awaitEvent(`employee:${id}`, { timeout: 3600, ...options });
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    return null;
  }
}
async function manager(id, context) {
  await context.step("tell the manager", async () => told.push(`${id} at ${minutes}`));
  return await context.awaitEvent(`manager:${id}`);
}
desk.registerTask({ name: "plain" }, async ({ id }, context) => (await employee(id, context)) ?? (await manager(id, context)));
desk.registerTask({ name: "named" }, async ({ id }, context) =>
  (await employee(id, context, { stepName: "wait for the employee" })) ?? (await manager(id, context)));
desk.registerTask({ name: "stored" }, async ({ id }, context) => {
  // Once the manager was told, the employee is not asked again.
  const begun = await context.beginStep("the manager decides");
  if (begun.done) return await manager(id, context);
  const answer = await employee(id, context);
  if (answer) return answer;
  await context.completeStep(begun, true);
  return await manager(id, context);
});

/** Run a task; the events come at these minutes. Return its state in the minute after the manager's yes, and its end. */
async function outcome(name, events) {
  const id = `${name}-${events.length}`;
  await at(0);
  const { taskID } = await desk.spawn(name, { id });
  await desk.workBatch("worker");
  await at(61);
  await desk.workBatch("worker");
  let after;
  for (const [minute, who, verdict] of events) {
    await at(minute);
    await desk.emitEvent(`${who}:${id}`, `${verdict} of the ${who}`);
    await desk.workBatch("worker");
    after ??= (await desk.fetchTaskResult(taskID)).state;
  }
  await at(200);
  await desk.workBatch("worker");
  const { state, result } = await desk.fetchTaskResult(taskID);
  return [after, state, result];
}

const yes = [70, "manager", "yes"];
const late = [75, "employee", "no"];
const seen = {
  plain: await outcome("plain", [yes]),
  "plain, a late no": await outcome("plain", [yes, late]),
  "named, a late no": await outcome("named", [yes, late]),
  "stored, a late no": await outcome("stored", [yes, late]),
};
const { version } = JSON.parse(readFileSync("node_modules/absurd-sdk/package.json", "utf8"));
console.log("absurd-sdk", version, "expected the manager's yes in each, at once; seen", seen);
assert.deepEqual(told, ["plain-1 at 61", "plain-2 at 61", "named-2 at 61", "stored-2 at 61"]);
assert.deepEqual(seen, {
  plain: ["sleeping", "completed", "yes of the manager"],
  "plain, a late no": ["sleeping", "completed", "no of the employee"],
  "named, a late no": ["sleeping", "completed", "no of the employee"],
  "stored, a late no": ["completed", "completed", "yes of the manager"],
});
JS
node run.mjs
