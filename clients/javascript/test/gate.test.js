import assert from "node:assert/strict";
import { test } from "node:test";
import { Halted, NotApproved } from "@pausepoint/client";
import { gate, pausepoint } from "@pausepoint/client/ai-sdk";
import { tool } from "ai";
import { z } from "zod";
import { DECIDED, WAITING, deskThatHears, once, taken } from "./support.js";

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

test("of two calls with one id at the same time one runs, and both get its result", async () => {
  const result = { state: "succeeded", output: "done", error: null };
  const { execute, ran, calls } = gated([
    [201, APPROVED],
    [201, APPROVED],
    taken(APPROVED),
    [409, { code: "resume_taken" }],
    [201, {}],
    [200, {}],
    [409, { code: "already_resumed" }],
    [200, { ...APPROVED, result }],
  ]);
  const both = await Promise.all([execute({ amount: 60 }, CALL), execute({ amount: 60 }, CALL)]);
  assert.deepEqual([both, ran.length], [["done", "done"], 1]);
  assert.deepEqual(
    calls.slice(2).map(({ call }) => call.replace("POST /requests/r1", "")),
    ["/resume", "/resume", "/result", "/resume/complete", "/resume", "GET /requests/r1"],
  );
});

test("after a call whose result no one knows a person is asked, and may say no", async () => {
  const approved = { ...APPROVED, tool_name: "refund" };
  const decision = { ...APPROVED.decision, verdict: "reject", comment: "It has run" };
  const { execute, ran, calls } = gated([
    [201, approved],
    taken(approved, "worker-1"),
    [200, {}],
    [201, { ...approved, id: "r2", status: "rejected", decision }],
    [200, approved],
  ]);
  await assert.rejects(execute({ amount: 60 }, CALL), {
    message:
      "An earlier run of this call ended before it reported a result, so it may have run already. " +
      "A person declined this call: It has run. Do not repeat it.",
  });
  assert.deepEqual([ran, calls[2].call], [[], "POST /requests/r1/resume/release"]);
  assert.deepEqual(
    [calls[3].body.title, calls[3].body.tool_call_id, calls[3].body.input],
    ["Run refund again?", "again-r1", { amount: 60 }],
  );
});

test("a call whose result could not be stored is not completed", async () => {
  const { execute, calls } = gated([[201, APPROVED], taken(APPROVED), [409, { code: "conflict" }]]);
  assert.equal(await execute({ amount: 60 }, CALL), "done");
  assert.equal(calls.length, 3);
});

test("a stream that no one reads to its end is reported as stopped", async () => {
  const { desk, calls } = deskThatHears(once(APPROVED));
  const read = tool({
    inputSchema: z.object({}),
    async *execute() {
      yield 1;
      yield 2;
    },
  });
  for await (const part of gate({ read }, { desk }).read.execute({}, CALL)) {
    assert.equal(part, 1);
    break;
  }
  assert.deepEqual(
    calls.slice(2).map(({ call, body }) => [call, body.error]),
    [
      ["POST /requests/r1/result", "Stopped: It was stopped before it returned, so it may have run in part."],
      ["POST /requests/r1/resume/complete", undefined],
    ],
  );
});

test("a generator is refused in words", async () => {
  const { desk, calls } = deskThatHears(once(APPROVED));
  const read = desk.approve("read", async function* () {
    yield 1;
  });
  await assert.rejects(read({}), /may not return a generator, which runs later/);
  assert.match(calls[2].body.error, /^TypeError: /);
});

test("a call that was not approved may be asked about again", async () => {
  const { execute, ran } = gated([[201, { ...DECIDED, status: "rejected" }], ...once(APPROVED)]);
  await assert.rejects(execute({ amount: 60 }, CALL), (error) => error instanceof NotApproved);
  assert.deepEqual([await execute({ amount: 60 }, CALL), ran.length], ["done", 1]);
});

test("an empty list of names is refused, because it would ask about no tool", () => {
  const { desk } = deskThatHears([]);
  for (const make of [() => gate({}, { desk, tools: [] }), () => pausepoint({ desk, tools: [] })]) {
    assert.throws(make, { name: "TypeError", message: /`tools` is an empty list, so no one would be asked/ });
  }
});

test("a denial by a rule names the rule, and is not told as a person's", async () => {
  const rule = { name: "Never", policy_version: 1 };
  const decision = { ...APPROVED.decision, verdict: "reject", by: null, comment: "Ask finance.", rule };
  const { execute, ran } = gated([[201, { ...APPROVED, status: "rejected", decision }]]);
  await assert.rejects(execute({ amount: 60 }, CALL), {
    message: "The rule 'Never' of the policy denies this call: Ask finance. Do not repeat it.",
  });
  assert.deepEqual(ran, []);
});

test("a call at whose deadline the run stops is halted, in words for the model", async () => {
  const decision = { verdict: "expire", by: null, comment: "", answer: null, halted: true };
  const { execute, ran } = gated([[201, { ...DECIDED, status: "expired", decision }]]);
  await assert.rejects(execute({ amount: 60 }, CALL), (error) => {
    assert.match(error.message, /the policy stops the run now\. Do nothing else/);
    return error instanceof Halted && error instanceof NotApproved && error.outcome.halted;
  });
  assert.deepEqual(ran, []);
});

test("a call whose result is known does not run, and fails as it failed", async () => {
  const result = { state: "failed", output: null, error: "Error: no money" };
  const { execute, ran } = gated([[200, { ...APPROVED, result }]]);
  await assert.rejects(execute({ amount: 60 }, CALL), /has run already, and failed: Error: no money/);
  assert.deepEqual(ran, []);
});

test("an input that the schema has changed reaches the tool as it is, unless a person changes it", async () => {
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default("EUR"), at: z.coerce.date().optional() });
  const unchanged = gated(once(APPROVED), { inputSchema });
  const input = { amount: 120, currency: "USD", at: new Date(0) };
  await unchanged.execute(input, CALL);
  assert.deepEqual(unchanged.ran, [input]);
  assert.deepEqual(unchanged.calls[0].body.input, { ...input, at: "1970-01-01T00:00:00.000Z" });
  const changed = gated(once(DECIDED), { inputSchema });
  await changed.execute({ amount: 120, currency: "USD" }, CALL);
  assert.deepEqual(changed.ran, [{ amount: 60, currency: "EUR" }]);
});

test("a call whose input people cannot be shown whole is refused, and no one is asked", async () => {
  const refused = { name: "TypeError", message: /^`input\.ids` is an instance of (Set|Map), which JSON does not carry whole/ };
  for (const ids of [new Set([1]), new Map([[1, 2]])]) {
    const { execute, ran, calls } = gated([], { inputSchema: z.object({ ids: z.any() }) });
    await assert.rejects(execute({ ids }, CALL), refused);
    const { desk } = deskThatHears([]);
    await assert.rejects(pausepoint({ desk })({ toolCall: { toolName: "refund", toolCallId: "c1", input: { ids } } }), refused);
    await assert.rejects(desk.approve("refund", (input) => ran.push(input), { key: "k" })({ ids }), refused);
    assert.deepEqual([ran, calls], [[], []]);
  }
});

test("what runs is what people saw, whatever becomes of the object meanwhile", async () => {
  const input = { amount: 60, lines: [1] };
  const given = { inputSchema: z.object({ amount: z.number(), lines: z.array(z.number()) }) };
  const { execute, ran } = gated(once(APPROVED), given);
  const { desk } = deskThatHears(once(APPROVED));
  const running = [execute(input, CALL), desk.approve("refund", (approved) => ran.push(approved), { key: "k" })(input)];
  input.amount = 6000;
  input.lines.push(2);
  await Promise.all(running);
  assert.deepEqual(ran, [{ amount: 60, lines: [1] }, { amount: 60, lines: [1] }]);
});

test("a form is offered only for an input that its schema takes again as it is", async () => {
  const cents = z.object({ amount: z.number().transform((euros) => euros * 100) });
  const { execute, ran, calls } = gated([...once(DECIDED), ...once(APPROVED)], { inputSchema: cents });
  await assert.rejects(execute({ amount: 12_000 }, CALL), {
    name: "Unfit",
    message:
      'A person changed the input of this call to {"amount":60}. It was not run: The schema of the tool makes another value ' +
      "of its input, so the input cannot be changed.",
  });
  assert.deepEqual(ran, []);
  await execute({ amount: 12_000 }, CALL);
  assert.deepEqual([ran, calls.map(({ body }) => body?.response_schema)], [[{ amount: 12_000 }], Array(8).fill(undefined)]);
});

test("a changed input of which the schema makes another one is not run", async () => {
  const capped = z.object({ amount: z.number().transform((amount) => Math.max(amount, 100)) });
  const { execute, ran } = gated(once(DECIDED), { inputSchema: capped });
  await assert.rejects(execute({ amount: 120 }, CALL), /The schema of the tool makes another input of it than the one/);
  assert.deepEqual(ran, []);
});

test("toolApproval is refused where a WorkflowAgent would ignore it", () => {
  const { desk } = deskThatHears([]);
  for (const name of ["WORKFLOW_USE_STEP", "@workflow/core//registeredSteps"]) {
    globalThis[Symbol.for(name)] = {};
    try {
      assert.throws(() => pausepoint({ desk }), /WorkflowAgent of @ai-sdk\/workflow has no toolApproval.* Use gate\(tools/);
    } finally {
      delete globalThis[Symbol.for(name)];
    }
  }
  assert.equal(typeof pausepoint({ desk }), "function");
});

test("a changed input that the tool does not take is not run, and the record says so", async () => {
  const decision = { ...DECIDED.decision, approved_input: { amount: "lots" } };
  const { execute, ran, calls } = gated(once({ ...DECIDED, decision }));
  await assert.rejects(execute({ amount: 60 }, CALL), /changed the input .*"lots".* It was not run: /s);
  assert.deepEqual([ran, calls[2].body.error.slice(0, 5)], [[], "Unfit"]);
});

test("a schema that the server refuses is left out", async () => {
  const { execute, calls } = gated([
    [422, { code: "invalid", errors: { response_schema: "is not a JSON Schema" } }],
    ...once(APPROVED),
  ]);
  assert.equal(await execute({ amount: 60 }, CALL), "done");
  assert.deepEqual(
    calls.slice(0, 2).map(({ body }) => body.response_schema?.required),
    [["amount"], undefined],
  );
});

test("a schema that is no JSON Schema is left out", async () => {
  const inputSchema = z.object({ at: z.date() });
  const { execute, calls } = gated(once(APPROVED), { inputSchema });
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
  const { desk, calls } = deskThatHears(Array.from({ length: 7 }, () => once(APPROVED)).flat());
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
  const [early, late] = await ids({ threadId: "t" }, { at: new Date(0) }, { at: new Date(1) });
  assert.notEqual(late.replace(/-\d$/, ""), early.replace(/-\d$/, ""));
});
