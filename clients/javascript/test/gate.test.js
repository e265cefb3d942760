import assert from "node:assert/strict";
import { test } from "node:test";
import { NotApproved } from "@pausepoint/client";
import { gate } from "@pausepoint/client/ai-sdk";
import { tool } from "ai";
import { z } from "zod";
import { DECIDED, WAITING, deskThatHears } from "./support.js";

const APPROVED = { ...DECIDED, decision: { ...DECIDED.decision, verdict: "approve", comment: "" } };
const CALL = { toolCallId: "c1", messages: [] };

/** A gated tool that notes what it runs with, and what its desk hears. */
function gated(responses, { inputSchema = z.object({ amount: z.number() }), execute = () => "done" } = {}) {
  const { desk, calls } = deskThatHears(responses);
  const ran = [];
  const refund = tool({
    inputSchema,
    execute: (input) => {
      ran.push(input);
      return execute(input);
    },
  });
  return { calls, ran, execute: gate({ refund }, { desk, threadId: "t" }).refund.execute };
}

test("a call that waits or runs is not run a second time", async () => {
  const { execute, ran } = gated([
    [201, APPROVED],
    [201, {}],
  ]);
  const first = execute({ amount: 60 }, CALL);
  await assert.rejects(execute({ amount: 60 }, CALL), /runs already, so it was not run a second time/);
  assert.deepEqual([await first, ran.length], ["done", 1]);
});

test("a call whose result could not be stored is not run a second time", async () => {
  const { execute, ran } = gated([
    [201, APPROVED],
    [409, { code: "conflict" }],
    [201, APPROVED],
  ]);
  await execute({ amount: 60 }, CALL);
  await assert.rejects(execute({ amount: 60 }, CALL), /runs already/);
  assert.equal(ran.length, 1);
});

test("a call that was not approved may be asked about again", async () => {
  const { execute, ran } = gated([
    [201, { ...DECIDED, status: "rejected" }],
    [201, APPROVED],
    [201, {}],
  ]);
  await assert.rejects(execute({ amount: 60 }, CALL), (error) => error instanceof NotApproved);
  assert.deepEqual([await execute({ amount: 60 }, CALL), ran.length], ["done", 1]);
});

test("a call whose result is known does not run, and fails as it failed", async () => {
  const result = { state: "failed", output: null, error: "Error: no money" };
  const { execute, ran } = gated([[200, { ...APPROVED, result }]]);
  await assert.rejects(execute({ amount: 60 }, CALL), /has run already, and failed: Error: no money/);
  assert.deepEqual(ran, []);
});

test("an input that the schema has changed reaches the tool as it is, unless a person changes it", async () => {
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default("EUR"), note: z.any().optional() });
  const unchanged = gated(
    [
      [201, APPROVED],
      [201, {}],
    ],
    { inputSchema },
  );
  const note = new Map();
  await unchanged.execute({ amount: 120, currency: "USD", note }, CALL);
  assert.equal(unchanged.ran[0].note, note);
  const changed = gated(
    [
      [201, DECIDED],
      [201, {}],
    ],
    { inputSchema },
  );
  await changed.execute({ amount: 120, currency: "USD" }, CALL);
  assert.deepEqual(changed.ran, [{ amount: 60, currency: "EUR" }]);
});

test("a changed input that the tool does not take is not run, and the record says so", async () => {
  const decision = { ...DECIDED.decision, approved_input: { amount: "lots" } };
  const { execute, ran, calls } = gated([
    [201, { ...DECIDED, decision }],
    [201, {}],
  ]);
  await assert.rejects(execute({ amount: 60 }, CALL), /changed the input .*"lots".* It was not run: /s);
  assert.deepEqual([ran, calls[1].body.error.slice(0, 5)], [[], "Unfit"]);
});

test("a schema that the server refuses is left out", async () => {
  const { execute, calls } = gated([
    [422, { code: "invalid", errors: { response_schema: "is not a JSON Schema" } }],
    [201, APPROVED],
    [201, {}],
  ]);
  assert.equal(await execute({ amount: 60 }, CALL), "done");
  assert.deepEqual(
    calls.map(({ body }) => body.response_schema?.required),
    [["amount"], undefined, undefined],
  );
});

test("a schema that is no JSON Schema is left out", async () => {
  const inputSchema = z.object({ at: z.date() });
  const { execute, calls } = gated(
    [
      [201, APPROVED],
      [201, {}],
    ],
    { inputSchema },
  );
  await execute({ at: new Date(0) }, CALL);
  assert.equal("response_schema" in calls[0].body, false);
});

test("aborting the call ends the waiting", async () => {
  const stop = new AbortController();
  const { execute, ran } = gated([[201, WAITING]]);
  stop.abort(new Error("stopped"));
  await assert.rejects(execute({ amount: 60 }, { ...CALL, abortSignal: stop.signal }), /stopped/);
  assert.deepEqual(ran, []);
});

test("a function is known by its key, or by its thread, its input, and how often it was called", async () => {
  const { desk, calls } = deskThatHears(Array.from({ length: 12 }, (_, place) => [201, place % 2 ? {} : APPROVED]));
  const ids = async (options, ...inputs) => {
    calls.length = 0;
    const refund = desk.approve("refund", () => "done", options);
    for (const input of inputs) await refund(input);
    return calls.filter(({ body }) => body.title).map(({ body }) => body.tool_call_id);
  };
  const key = ({ order }) => `refund-${order}`;
  assert.deepEqual(await ids({ key, threadId: "t" }, { order: "1" }), ["t:refund-1"]);
  assert.deepEqual(await ids({}, { order: "1" }), [undefined]);
  const [first, again, other] = await ids({ threadId: "t" }, { a: 1, b: 2 }, { b: 2, a: 1 }, { a: 1, b: 3 });
  assert.match(first, /^t:[0-9a-f]{40}-1$/);
  assert.equal(again, first.replace(/1$/, "2"));
  assert.notEqual(other, first);
});
