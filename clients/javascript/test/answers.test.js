// What the client makes of any answer: a request is approved only if the answer says exactly that.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DeskError, NotUnderstood, Outcome, answerText } from "@pausepoint/client";
import { DECIDED, WAITING, deskThatHears } from "./support.js";

const APPROVED = {
  ...DECIDED,
  tool_name: "refund",
  decision: { ...DECIDED.decision, verdict: "approve", halted: false },
  votes: { progress: "1 of 2", cast: [] },
  result: { state: "succeeded", output: 1, error: null },
};
const ODD = [
  null,
  true,
  0,
  "",
  "halt",
  "approve",
  "approved",
  "pending",
  [],
  ["approve"],
  {},
  { toString: 1, valueOf: 1 },
];
const CHANGES = [...ODD, undefined];
const OBJECTS = ODD.filter((value) => typeof value === "object" && value !== null && !Array.isArray(value));

/** The path of every member of a document. */
function* paths(document, prefix = []) {
  for (const [name, value] of Object.entries(document)) {
    yield [...prefix, name];
    if (typeof value === "object" && value !== null) yield* paths(value, [...prefix, name]);
  }
}

/** A document with another member; without it, if it is undefined. */
function changed(document, [name, ...rest], value) {
  const copy = Array.isArray(document) ? [...document] : { ...document };
  copy[name] = rest.length > 0 ? changed(document[name], rest, value) : value;
  return copy;
}

/** Every document that differs in one member, or in two of those that say whether it is approved. */
function* answers(document) {
  yield* OBJECTS;
  for (const path of paths(document)) for (const value of CHANGES) yield changed(document, path, value);
  const decisive = [["status"], ["decision"], ["decision", "verdict"], ["decision", "halted"], ["decision", "approved_input"]];
  for (const one of decisive)
    for (const other of decisive)
      for (const first of CHANGES)
        for (const second of CHANGES) {
          const { decision } = changed(document, one, first);
          if (other.length > 1 && (typeof decision !== "object" || decision === null)) continue;
          yield changed(changed(document, one, first), other, second);
        }
}

const VERBS = {
  ask: (desk) => desk.ask("Pay?"),
  awaitHuman: (desk) => desk.awaitHuman("Pay?", { giveUpAfter: 0 }),
  wait: (desk) => desk.wait("r1", { giveUpAfter: 0 }),
  cancel: (desk) => desk.cancel("r1"),
  decide: (desk) => desk.decide("r1", "approve"),
  get: (desk) => desk.get("r1"),
  advise: (desk) => desk.advise("r1", "looks_fine", "It does."),
  endWorkflow: (desk) => desk.endWorkflow("w1"),
};

for (const [name, verb] of Object.entries(VERBS)) {
  test(`${name}: no answer approves what it does not say, and none breaks the client`, async () => {
    for (const status of [200, 409]) {
      for (const answer of answers(APPROVED)) {
        const { desk } = deskThatHears([[status, answer], [status, answer]]);
        let found;
        try {
          found = await verb(desk);
        } catch (error) {
          assert.ok(error instanceof DeskError, `${JSON.stringify(answer)}: ${error?.stack}`);
          continue;
        }
        if (!(found instanceof Outcome)) continue;
        assert.equal(typeof answerText(found), "string");
        if (!found.approved) continue;
        const { status: said, decision } = found.document;
        assert.ok(said === "approved" && ["approve", "edit"].includes(decision.verdict) && !decision.halted);
        assert.deepEqual(found.input, decision.approved_input);
      }
    }
  });
}

test("a list that is none is not understood", async () => {
  for (const page of [{}, { items: {} }, { items: "r1", next: null }, { items: [], next: 1 }]) {
    await assert.rejects(deskThatHears([[200, page]]).desk.list(), NotUnderstood);
  }
});

test("a gated function does not run for an answer that is not understood", async () => {
  const decisions = [
    { ...DECIDED.decision, verdict: "halt" },
    { ...DECIDED.decision, verdict: "approve_once" },
    { ...DECIDED.decision, halted: true },
    { ...DECIDED.decision, approved_input: undefined },
    { ...DECIDED.decision, approved_digest: undefined },
    undefined,
  ];
  for (const decision of decisions) {
    const { desk } = deskThatHears([[201, { ...DECIDED, decision }]]);
    const gated = desk.approve("refund", () => assert.fail("It ran."), { key: "k" });
    await assert.rejects(gated({ amount: 5 }), { name: "NotUnderstood", code: "not_understood" });
  }
});

test("a claim whose answer has no token or request runs nothing", async () => {
  for (const claim of [{}, { token: 1, request: DECIDED }, { token: "t" }, { token: "t", request: WAITING }]) {
    const { desk } = deskThatHears([[201, DECIDED], [200, claim]]);
    const gated = desk.approve("refund", () => assert.fail("It ran."), { key: "k" });
    await assert.rejects(gated({ amount: 5 }), NotUnderstood);
  }
});

test("an older server that sends fewer members is understood", () => {
  const { verdict, approved_input, approved_digest } = DECIDED.decision;
  const outcome = new Outcome({ id: "r1", status: "approved", decision: { verdict, approved_input, approved_digest } });
  assert.deepEqual([outcome.approved, outcome.halted, outcome.comment, outcome.by], [true, false, "", null]);
  const rejected = new Outcome({ id: "r1", status: "rejected" });
  assert.deepEqual([rejected.approved, rejected.edited, rejected.votes], [false, false, null]);
});
