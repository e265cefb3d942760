#!/usr/bin/env bash
# AWS durable functions (JavaScript and Python): `context.map` or `context.parallel` runs a branch for each payment of a list. A branch asks people by
# `waitForCallback` and then pays. People say no to A by `SendDurableExecutionCallbackFailure`, and yes to B and C.
# Guess: a batch collects the results of its branches, so A is one failed item and B and C are paid, as with
# `promise.allSettled`; in Python, `MapConfig` says of its default that there is "no limit on failure count". Seen: with the default
# of both languages, the first failure ends the batch. Branches whose people have not answered yet are abandoned, and nothing is raised: the
# function goes on and ends with SUCCEEDED. A later yes to B is accepted like any other and never read, so B and C are approved and not
# paid. It depends on the order of the answers: payments approved before the no are made. A tolerated number of failures waits for everyone.
# To be safe, answer with a success that says no.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check aws-durable-execution-sdk-python==3.0.0 aws-durable-execution-sdk-python-testing==1.4.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 @aws/durable-execution-sdk-js@2.4.0 @aws/durable-execution-sdk-js-testing@1.1.4 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import { LocalDurableTestRunner, WaitingOperationStatus } from "@aws/durable-execution-sdk-js-testing";

const NAMES = ["A", "B", "C"];
const TOLERANT = { completionConfig: { toleratedFailureCount: 3 } };
const { SUBMITTED } = WaitingOperationStatus;

function batches(pay) {
  const branches = NAMES.map((name) => (context) => pay(context, name));
  return {
    map: (context) => context.map("payments", NAMES, pay),
    parallel: (context) => context.parallel("payments", branches),
    "map, tolerant": (context) => context.map("payments", NAMES, pay, TOLERANT),
    "promise.allSettled": (context) =>
      context.promise.allSettled("payments", NAMES.map((name) => context.runInChildContext(`branch ${name}`, (child) => pay(child, name)))),
  };
}

// Run a batch, send answers until the run asks about its end, then the late answers and the end; return what is paid and the status.
async function outcome(kind, answers, late) {
  const paid = [];
  const ask = (context, name) => context.waitForCallback(name, async () => {});
  const pay = async (context, name) => {
    await ask(context, name);
    await context.step(`pay ${name}`, async () => paid.push(name));
  };
  const run = async (_, context) => {
    await batches(pay)[kind](context);
    await ask(context, "end");
  };
  const runner = new LocalDurableTestRunner({ handlerFunction: withDurableExecution(run) });
  const result = runner.run({ payload: {} });
  const waits = Object.fromEntries([...NAMES, "end"].map((name) => [name, runner.getOperation(name)]));
  const send = ([name, yes]) =>
    yes ? waits[name].sendCallbackSuccess('"yes"') : waits[name].sendCallbackFailure({ ErrorMessage: "no" });
  await Promise.all(NAMES.map((name) => waits[name].waitForData(SUBMITTED)));
  for (const answer of answers) {
    await send(answer);
    if (answer[1]) {
      await runner.getOperation(`pay ${answer[0]}`).waitForData(WaitingOperationStatus.COMPLETED);
    }
  }
  await waits.end.waitForData(SUBMITTED);
  for (const answer of [...late, ["end", true]]) {
    await send(answer);
  }
  return `paid ${paid.sort().join("")}, ${(await result).getStatus()}`;
}

await LocalDurableTestRunner.setupTestEnvironment({ skipTime: false });
const [no, yesB, yesC] = [["A", false], ["B", true], ["C", true]];
const seen = {
  "map, no first": await outcome("map", [no], [yesB, yesC]),
  "map, no between": await outcome("map", [yesB, no], [yesC]),
  "map, no last": await outcome("map", [yesB, yesC, no], []),
  "parallel, no first": await outcome("parallel", [no], [yesB, yesC]),
  "map, tolerant": await outcome("map, tolerant", [no, yesB, yesC], []),
  "promise.allSettled": await outcome("promise.allSettled", [no, yesB, yesC], []),
};
await LocalDurableTestRunner.teardownTestEnvironment();
const { version } = JSON.parse(readFileSync("node_modules/@aws/durable-execution-sdk-js/package.json", "utf8"));
console.log("@aws/durable-execution-sdk-js", version, "expected BC to be paid in each, seen", seen);
assert.deepEqual(seen, {
  "map, no first": "paid , SUCCEEDED",
  "map, no between": "paid B, SUCCEEDED",
  "map, no last": "paid BC, SUCCEEDED",
  "parallel, no first": "paid , SUCCEEDED",
  "map, tolerant": "paid BC, SUCCEEDED",
  "promise.allSettled": "paid BC, SUCCEEDED",
});
JAVASCRIPT
timeout 120 node_modules/.bin/node look.mjs
cat >look.py <<'PYTHON'
import logging
from importlib.metadata import version

from aws_durable_execution_sdk_python import durable_execution
from aws_durable_execution_sdk_python.config import CompletionConfig, MapConfig, ParallelConfig
from aws_durable_execution_sdk_python.lambda_service import ErrorObject
from aws_durable_execution_sdk_python_testing.runner import DurableFunctionTestRunner

NAMES = "A", "B", "C"
NO_LIMIT = CompletionConfig()
TOLERANT = CompletionConfig(tolerated_failure_count=3)


def outcome(kind, config, answers, late):
    """Run a batch, send answers until the run asks about its end, then the late answers and the end; return what is paid and the status."""
    paid = []

    def ask(context, name):
        return context.wait_for_callback(lambda callback_id, _: None, name=name)

    def pay(context, name):
        ask(context, name)
        context.step(lambda _: paid.append(name), name=f"pay {name}")

    @durable_execution
    def run(event, context):
        if kind == "map":
            context.map(NAMES, lambda child, name, index, names: pay(child, name), config=config)
        else:
            context.parallel([lambda child, name=name: pay(child, name) for name in NAMES], config=config)
        ask(context, "end")

    with DurableFunctionTestRunner(handler=run) as runner:
        execution = runner.run_async(input="{}")

        def wait(name):
            return runner.wait_for_callback(execution, name=f"{name} create callback id", timeout=60)

        def send(name, yes):
            if yes:
                runner.send_callback_success(waits[name], result=b'"yes"')
            else:
                runner.send_callback_failure(waits[name], ErrorObject.from_message("no"))

        waits = {name: wait(name) for name in NAMES}
        for answer in answers:
            send(*answer)
        waits["end"] = wait("end")
        for answer in (*late, ("end", True)):
            send(*answer)
        return f"paid {''.join(sorted(paid))}, {runner.wait_for_result(execution, timeout=60).status.value}"


logging.disable(logging.CRITICAL)
no, *others = answers = ("A", False), ("B", True), ("C", True)
seen = {
    "map": outcome("map", None, [no], others),
    "map, no limit": outcome("map", MapConfig(completion_config=NO_LIMIT), [no], others),
    "parallel": outcome("parallel", None, [no], others),
    "map, tolerant": outcome("map", MapConfig(completion_config=TOLERANT), answers, []),
    "parallel, tolerant": outcome("parallel", ParallelConfig(completion_config=TOLERANT), answers, []),
}
package = "aws-durable-execution-sdk-python"
print(package, version(package), "expected BC to be paid in each, seen", seen)
ended, waited = "paid , SUCCEEDED", "paid BC, SUCCEEDED"
tolerant = {"map, tolerant": waited, "parallel, tolerant": waited}
assert seen == {"map": ended, "map, no limit": ended, "parallel": ended} | tolerant
PYTHON
timeout 120 venv/bin/python look.py
