import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { Desk, Outcome } from "@pausepoint/client";
import { encoded, whole } from "../dist/json.js";
import { DECIDED, deskThatHears } from "./support.js";

class Money {
  #cents = 5;
  get euros() {
    return this.#cents / 100;
  }
}

class Items extends Array {}

class Day extends Date {
  toISOString() {
    return "today";
  }
}

const itself = { list: [] };
itself.list.push(itself);
const deep = JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`);

/** The value of `input.x`, and what is said about it. */
const REFUSED = [
  [new Map([[1, 2]]), "`input.x` is an instance of Map"],
  [new Set([1]), "`input.x` is an instance of Set"],
  [new Money(), "`input.x` is an instance of Money"],
  [Uint8Array.of(1), "`input.x` is an instance of Uint8Array"],
  [Object("text"), "`input.x` is an instance of String"],
  [new Items(1, 2), "`input.x` is an instance of Items"],
  [new Day(0), "`input.x` is an instance of Day"],
  [Object.assign([1], { more: 2 }), "`input.x` is an instance of Array"],
  [Object.create({ inherited: 1 }), "`input.x` is an instance of Object"],
  [Math, "`input.x` is an instance of Math"],
  [/x/, "`input.x` is an instance of RegExp"],
  [Promise.resolve(1), "`input.x` is an instance of Promise"],
  [() => 1, "`input.x` is a function"],
  [{ toJSON: () => 1 }, "`input.x.toJSON` is a function"],
  [Symbol("s"), "`input.x` is a symbol"],
  [{ [Symbol("s")]: 1 }, "`input.x` is an object with a symbol as a name"],
  [12n, "`input.x` is a BigInt"],
  [Number.NaN, "`input.x` is NaN"],
  [{ "a b": -Infinity }, '`input.x["a b"]` is -Infinity'],
  [[1, undefined], "`input.x[1]` is undefined"],
  // biome-ignore lint/suspicious/noSparseArray: a hole is the case
  [[1, , 3], "`input.x[1]` is undefined"],
  [new Date(Number.NaN), "`input.x` is an invalid date"],
  [itself, "`input.x.list[0]` is a value that contains itself"],
  [deep, `\`input.x${"[0]".repeat(98)}\` is deeper than 100 levels`],
];

test("what JSON does not carry whole is refused in words at once, and nothing is sent", async () => {
  const { desk, calls } = deskThatHears([]);
  for (const [x, said] of REFUSED) {
    await assert.rejects(desk.awaitHuman("Pay?", { toolName: "pay", input: { x } }), (error) => {
      assert.equal(error.name, "TypeError");
      assert.ok(error.message.startsWith(`${said}, which JSON does not carry whole, so nothing was sent.`), error.message);
      return true;
    });
  }
  assert.deepEqual(calls, []);
});

test("every body is refused so, also those of decisions and advice", async () => {
  const { desk, calls } = deskThatHears([]);
  const refusals = [
    desk.ask("Pay?", { context: { of: new Map() } }),
    desk.decide("r1", "edit", { editedInput: { n: 1n } }),
    desk.decide("r1", "respond", { answer: { deep: { file: Uint8Array.of(1) } } }),
    desk.resume("r1", "", { lease_seconds: Number.NaN }),
  ];
  for (const refusal of refusals) await assert.rejects(refusal, TypeError);
  assert.deepEqual(calls, []);
});

test("what JSON carries is sent as it is, and dates as text", () => {
  const shared = { a: 1 };
  const value = {
    text: "ü\ud83d\ude00",
    numbers: [0, -1.5, 1e300],
    nothing: null,
    twice: [shared, shared],
    left: undefined,
    bare: Object.assign(Object.create(null), { b: true }),
    at: new Date(0),
    other: runInNewContext("({ list: [1, { at: new Date(0) }] })"),
  };
  const at = "1970-01-01T00:00:00.000Z";
  const { left, ...rest } = value;
  assert.deepEqual(JSON.parse(encoded(value)), { ...rest, bare: { b: true }, at, other: { list: [1, { at }] } });
  assert.equal(encoded(JSON.parse('{"__proto__":{"x":1}}')), '{"__proto__":{"x":1}}');
});

test("a copy has its dates, and nothing of the value that it was made of", () => {
  const value = { at: new Date(0), list: [{ a: 1 }] };
  const copy = whole(value);
  value.list[0].a = 2;
  value.at.setTime(1);
  assert.deepEqual(copy, { at: new Date(0), list: [{ a: 1 }] });
});

test("a result of a call that has run is never refused", async () => {
  const outputs = [12n, new Map([[1, 2]]), { n: Number.NaN }, new Money(), itself, deep, () => 1];
  const { desk, calls } = deskThatHears(Array.from({ length: outputs.length + 2 }, () => [201, {}]));
  const outcome = new Outcome(DECIDED);
  for (const output of outputs) await desk.report(outcome, { output });
  await desk.report(outcome, { output: { amount: 60 } });
  await desk.report(outcome, { error: new RangeError("too much") });
  const reported = calls.map(({ body }) => body.output);
  assert.deepEqual([reported[0], reported[2], reported.at(-2)], ["12", { n: null }, { amount: 60 }]);
  assert.deepEqual([calls.length, calls.at(-1).body.error], [outputs.length + 2, "RangeError: too much"]);
});

test("a call of a desk that cannot be reached fails at once for a BigInt, however patient it is", async () => {
  const desk = new Desk("https://desk.example.com", "pp_x", { fetch: () => assert.fail("It was sent."), patience: 300 });
  await assert.rejects(desk.awaitHuman("Pay?", { input: { n: 12n } }), /^TypeError: `input\.n` is a BigInt/);
});
