#!/usr/bin/env bash
# XState: a machine waits for an approval and expires by `after: { 3600000: "expired" }`. Its state is stored with `getPersistedSnapshot`, the
# process restarts, and the machine goes on with `createActor(machine, { snapshot }).start()`.
# Guess: the deadline goes on where it was, or starts anew, as invoked work does. Seen: it never comes. The snapshot has no timers, and going on
# with it does not enter the state again, so neither `after` nor a `raise` or `sendTo` with a `delay` ever fires, also in a child machine. The
# request waits for good, and a yes that comes a day later still pays. Nothing tells of it: the snapshot is active, `can` says true for an
# approval. An invoked promise begins again after the restart, so a wait that is written as a promise expires, late by the time that had passed.
# To be safe, store the deadline in the context, compare it in a guard, and send the event of expiry from a scheduler.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 xstate@5.33.3 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createActor, createMachine, fromPromise, raise, sendTo, SimulatedClock } from "xstate";

const HOUR = 3_600_000;
const ends = { expired: { type: "final" }, paid: { type: "final" } };
const on = { approve: "paid" };
let sleep;
const waiting = (state) => createMachine({ initial: "waiting", states: { waiting: { on, ...state }, ...ends } });
const inner = waiting({ after: { [HOUR]: "expired" } });
const machines = {
  after: inner,
  raise: waiting({ entry: raise({ type: "late" }, { delay: HOUR }), on: { ...on, late: "expired" } }),
  sendTo: waiting({ entry: sendTo(({ self }) => self, { type: "late" }, { delay: HOUR }), on: { ...on, late: "expired" } }),
  "after in a child": createMachine({
    initial: "waiting",
    states: { waiting: { invoke: { id: "inner", src: inner, onDone: "expired" } }, expired: {} },
  }),
  "invoked promise": waiting({ invoke: { src: fromPromise(() => sleep(HOUR)), onDone: "expired" } }),
};

// Run a machine for half an hour, restart it from its stored snapshot if asked to, and go on for a day; return its state, also after a yes.
async function outcome(machine, restart) {
  let clock = new SimulatedClock();
  sleep = (length) => new Promise((resolve) => clock.setTimeout(resolve, length));
  let actor = createActor(machine, { clock }).start();
  clock.increment(HOUR / 2);
  if (restart) {
    const stored = JSON.stringify(actor.getPersistedSnapshot());
    actor.stop();
    clock = new SimulatedClock();
    actor = createActor(machine, { clock, snapshot: JSON.parse(stored) }).start();
  }
  clock.increment(24 * HOUR);
  await new Promise(setImmediate);
  const { value, status } = actor.getSnapshot();
  const asked = actor.getSnapshot().children.inner ?? actor;
  asked.send({ type: "approve" });
  return `${value}, ${status}, ${asked.getSnapshot().value} after a yes`;
}

const seen = {};
for (const [name, machine] of Object.entries(machines)) {
  seen[name] = await outcome(machine, false);
  seen[`${name}, restarted`] = await outcome(machine, true);
}
const { version } = JSON.parse(readFileSync("node_modules/xstate/package.json", "utf8"));
console.log("xstate", version, "expected expired after a day in each, seen", seen);
const expired = "expired, done, expired after a yes";
const late = "waiting, active, paid after a yes";
assert.deepEqual(seen, {
  after: expired,
  "after, restarted": late,
  raise: expired,
  "raise, restarted": late,
  sendTo: expired,
  "sendTo, restarted": late,
  "after in a child": "expired, active, expired after a yes",
  "after in a child, restarted": late,
  "invoked promise": expired,
  "invoked promise, restarted": expired,
});
JAVASCRIPT
node_modules/.bin/node look.mjs
