import assert from "node:assert/strict";
import test from "node:test";

import { Desk, inputDigest, Outcome } from "@pausepoint/client";
import { canonical } from "../dist/digests.js";
import { DECIDED } from "./support.js";

const FILE = { name: "ü.txt", media_type: "text/plain", size: 3, sha256: "0".repeat(64) };

test("the canonical form is that of RFC 8785", () => {
  const value = JSON.parse(
    '{"\\u20ac":"Euro","\\r":"CR","\\ufb33":"Hebrew","1":"One","\\ud83d\\ude00":"Smiley","\\u0080":"Control","10":2,"9":-0}',
  );
  const names = ["\r", "1", "10", "9", "\u0080", "\u20ac", "\ud83d\ude00", "\ufb33"];
  assert.deepEqual(
    [...canonical(value).matchAll(/"([^"]*)":/g)].map(([, name]) => JSON.parse(`"${name}"`)),
    names,
  );
  assert.equal(canonical([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0]), "[333333333.3333333,1e+30,4.5,0.002,1e-27,0]");
});

test("the digest of an input covers its files and the salt, and nothing else of them", async () => {
  const digest = await inputDigest({ amount: 120 });
  assert.equal(digest, "sha256:c0cd08867a79450e3286e92a5efc7303500452435a66322fba2b3d49a3229cbf");
  const shown = { ...FILE, url: "https://desk.example.org/" };
  assert.equal(await inputDigest({ a: 1 }, [shown]), await inputDigest({ a: 1 }, [FILE]));
  const inputs = [
    [{ a: 1 }],
    [{ a: 1 }, [FILE]],
    [{ a: 1 }, [], "5a17"],
    [{ input: { a: 1 }, attachments: [FILE] }],
    [{ a: true }],
  ];
  const digests = await Promise.all(inputs.map((each) => inputDigest(...each)));
  assert.equal(new Set(digests).size, inputs.length);
});

test("what is no JSON has no digest", async () => {
  for (const value of [Number.NaN, 1n, [undefined], () => 1, new Map(), new Date(Number.NaN)]) {
    await assert.rejects(inputDigest({ value }), { name: "TypeError", message: /^`input\.value/ });
  }
});

test("the digest is of an input as it is sent", async () => {
  const input = { at: new Date(0), note: undefined };
  assert.equal(await inputDigest(input), await inputDigest({ at: "1970-01-01T00:00:00.000Z" }));
});

test("an outcome says whether its digest is that of its input", async () => {
  const digest = await inputDigest({ amount: 60 }, [FILE], "5a17");
  const outcome = (decision) =>
    new Outcome({
      ...DECIDED,
      attachments: [FILE],
      decision: { ...DECIDED.decision, approved_input: { amount: 60 }, approved_digest: digest, ...decision },
    });
  const outcomes = [outcome({ digest_salt: "5a17" }), outcome({ digest_salt: null }), outcome({})];
  assert.deepEqual(await Promise.all(outcomes.map((each) => each.verified())), [true, false, false]);
});

test("a call without an id gets a name that only its key makes", async () => {
  const names = ["one", "one", "other"].map((key) => new Desk("https://desk.example.org", key).nameOf("refund 4711"));
  const made = await Promise.all(names);
  assert.deepEqual([new Set(made).size, made[0].length], [2, 40]);
});
