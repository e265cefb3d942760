import assert from "node:assert/strict";
import { test } from "node:test";
import { Desk, Refused, StillWaiting, Unreachable } from "@pausepoint/client";
import { pausepoint } from "@pausepoint/client/ai-sdk";
import { DECIDED, WAITING, deskThatHears, once } from "./support.js";

test("a call whose response was lost is sent again under the same name", async () => {
  const { desk, calls } = deskThatHears([new TypeError("fetch failed"), [503, {}], [201, WAITING]]);
  assert.equal((await desk.ask("Pay?")).id, "r1");
  const names = calls.map((call) => call.headers["Idempotency-Key"]);
  assert.match(names[0], /^[0-9a-f]{32}$/);
  assert.deepEqual(names, [names[0], names[0], names[0]]);
});

test("fields get the names of the API, and values stay as they are", async () => {
  const { desk, calls } = deskThatHears([[201, WAITING]]);
  const deadline = new Date("2026-12-01T12:00:00Z");
  await desk.ask("Size?", {
    toolCallId: "c1",
    options: ["S", { label: "M" }],
    timeout: 1.5,
    deadline,
    context: { ofWhom: "me" },
  });
  assert.deepEqual(calls[0].body, {
    kind: "question",
    title: "Size?",
    tool_call_id: "c1",
    options: [{ label: "S" }, { label: "M" }],
    timeout: 2,
    deadline: "2026-12-01T12:00:00.000Z",
    context: { ofWhom: "me" },
  });
  assert.equal(calls[0].headers["Idempotency-Key"], undefined);
});

test("files are sent in base64, under the names of the API", async () => {
  const { desk, calls } = deskThatHears([[201, WAITING]]);
  const content = Uint8Array.from({ length: 20_000 }, (_, at) => at % 256);
  await desk.ask("Pay?", {
    attachments: [
      { name: "a.bin", content },
      { name: "b.txt", content: "aGVsbG8=", mediaType: "text/plain" },
    ],
  });
  assert.deepEqual(calls[0].body.attachments, [
    { name: "a.bin", content: Buffer.from(content).toString("base64") },
    { name: "b.txt", content: "aGVsbG8=", media_type: "text/plain" },
  ]);
});

test("a file in an answer is sent in base64, and read as bytes", async () => {
  const content = Uint8Array.of(0, 255, 10), removed = { status: 410, code: "file_removed", detail: "Gone." };
  const answered = { ...DECIDED, status: "answered" };
  const { desk, calls } = deskThatHears([[200, answered], [503, {}], [200, content], [410, removed]]);
  const contract = { name: "a.pdf", content, mediaType: "application/pdf" };
  await desk.decide("r1", "respond", { answer: { contract, note: null, days: [1], of: { content: "x" } } });
  assert.deepEqual(calls[0].body, {
    verdict: "respond",
    answer: {
      contract: { name: "a.pdf", content: "AP8K", media_type: "application/pdf" },
      note: null,
      days: [1],
      of: { content: "x" },
    },
  });
  assert.deepEqual(await desk.readFile("r1", { url: "https://elsewhere.example/requests/r2/attachments/f1" }), content);
  await assert.rejects(desk.readFile("r1", { url: "f 2" }), (error) => error instanceof Refused && error.code === "file_removed");
  assert.deepEqual(calls.at(-2).call, "GET /requests/r1/attachments/f1");
  assert.deepEqual(calls.at(-1).call, "GET /requests/r1/attachments/f%202");
});

test("waiting is repeated until someone has decided", async () => {
  const { desk, calls } = deskThatHears([
    [201, WAITING],
    [200, WAITING],
    [200, DECIDED],
  ]);
  const { approved, edited, input, by, comment } = await desk.awaitHuman("Pay?", {
    toolName: "refund",
    input: { amount: 120 },
  });
  assert.deepEqual(
    { approved, edited, input, by, comment },
    { approved: true, edited: true, input: { amount: 60 }, by: "bob", comment: "half" },
  );
  assert.deepEqual(
    calls.slice(1).map(({ call }) => call),
    ["GET /requests/r1?wait=50", "GET /requests/r1?wait=50"],
  );
});

test("a decision that stands already needs no waiting", async () => {
  const { desk, calls } = deskThatHears([[200, DECIDED]]);
  await desk.awaitHuman("Pay?", { toolCallId: "c1" });
  assert.equal(calls.length, 1);
});

test("who gives up can wait again", async () => {
  const { desk } = deskThatHears([[200, WAITING]]);
  await assert.rejects(
    desk.wait("r1", { giveUpAfter: 0 }),
    (error) => error instanceof StillWaiting && error.requestId === "r1",
  );
});

test("a refusal is thrown at once, with its code and fields", async () => {
  const problem = { code: "invalid", detail: "Look at the fields.", errors: { title: "is too long" } };
  const { desk, calls } = deskThatHears([[422, problem]]);
  await assert.rejects(desk.ask("x"), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual(
      [error.status, error.code, error.message],
      [422, "invalid", "422 invalid: Look at the fields. title: is too long."],
    );
    return true;
  });
  assert.equal(calls.length, 1);
});

test("a page of someone else, and a redirect, are no responses of Pausepoint", async () => {
  for (const response of [
    [200, "<html>"],
    [302, "", { location: "https://elsewhere.example.com" }],
    [200, []],
  ]) {
    const { desk } = deskThatHears([response]);
    await assert.rejects(desk.get("r1"), /not from Pausepoint/);
  }
});

test("without patience, a server that does not answer is unreachable", async () => {
  const { desk } = deskThatHears([new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") })], -60);
  await assert.rejects(desk.get("r1"), (error) => error instanceof Unreachable && /ECONNREFUSED/.test(error.message));
});

test("patience counts from the first failure", async () => {
  const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
  const { desk } = deskThatHears(Array(20).fill(refused), 0.3);
  const began = performance.now();
  await assert.rejects(desk.get("r1"), Unreachable);
  assert.ok(performance.now() - began < 5_000);
});

test("a signal ends the waiting with its own reason", async () => {
  const stop = new AbortController();
  const fetch = (_url, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      stop.abort(new Error("the page was closed"));
    });
  const desk = new Desk("https://desk.example.com", "pp_x", { fetch });
  await assert.rejects(desk.wait("r1", { signal: stop.signal }), /the page was closed/);
});

test("a request that was cancelled before is returned as cancelled", async () => {
  const cancelled = { ...DECIDED, status: "cancelled", decision: { ...DECIDED.decision, verdict: "cancel" } };
  const { desk } = deskThatHears([
    [409, { code: "already_decided", decision: { verdict: "cancel" } }],
    [200, cancelled],
  ]);
  assert.equal((await desk.cancel("r1")).status, "cancelled");
});

test("a list has all pages", async () => {
  const { desk, calls } = deskThatHears([
    [200, { items: [WAITING], next: "c2" }],
    [200, { items: [DECIDED], next: null }],
  ]);
  assert.equal((await desk.list({ status: "pending" })).length, 2);
  assert.deepEqual(
    calls.map(({ call }) => call),
    ["GET /requests?status=pending", "GET /requests?status=pending&cursor=c2"],
  );
});

test("an address or a key that cannot be right is refused before any call", () => {
  assert.throws(() => new Desk("desk.example.com", "pp_x"), /must begin with https/);
  assert.throws(() => new Desk("https://desk.example.com", "pp_x\n"), /printable ASCII/);
  assert.throws(() => new Desk(), /PAUSEPOINT_URL and PAUSEPOINT_KEY/);
});

test("calls without an id are never taken for each other", async () => {
  const { desk, calls } = deskThatHears([
    [201, DECIDED],
    [201, DECIDED],
  ]);
  const approval = pausepoint({ desk, threadId: "t" });
  for (const toolCallId of ["", "c1"]) await approval({ toolCall: { toolName: "refund", toolCallId, input: {} } });
  assert.deepEqual(
    calls.map((call) => [call.body.tool_call_id, call.headers["Idempotency-Key"]?.length]),
    [
      [undefined, 32],
      ["t:c1", undefined],
    ],
  );
});

/** What is sent as the result of an approved call that returned this, or threw it. */
async function reported(toolOutput) {
  const approved = { ...DECIDED, decision: { ...DECIDED.decision, verdict: "approve" } };
  const { desk, calls } = deskThatHears(once(approved));
  const approval = pausepoint({ desk });
  await approval({ toolCall: { toolName: "refund", toolCallId: "c1", input: { amount: 60 } } });
  await approval.report({ toolCall: { toolCallId: "c1" }, toolOutput });
  return calls[2].body;
}

test("an output that the server could not store is reported as text", async () => {
  const nested = (levels) => (levels ? [nested(levels - 1)] : 0);
  const endless = [];
  let inner = endless;
  for (let level = 0; level < 100_000; level++) {
    const next = [];
    inner.push(next);
    inner = next;
  }
  const cases = [
    [{ refunded: 250, rate: 0.5, to: null }, { refunded: 250, rate: 0.5, to: null }],
    [undefined, null],
    [2 ** 53 - 1, 2 ** 53 - 1],
    [2 ** 53, "9007199254740992"],
    [[1e300], [1e300]],
    [7n, "7"],
    ["a\0b", "a\ufffdb"],
    ["a\ud83d", "a\ufffd"],
    [{ "\ud83d": "\u{1f600}" }, '{"\\ud83d":"\u{1f600}"}'],
    [nested(60), nested(60)],
    [nested(61), JSON.stringify(nested(61))],
    [endless, "(object: no text, because of RangeError)"],
    ["\u{1f600}".repeat(10_000), `${"\u{1f600}".repeat(9_949)}…`],
    [Array(10_000).fill(0), `${JSON.stringify(Array(10_000).fill(0)).slice(0, 19_899)}…`],
  ];
  for (const [output, expected] of cases) {
    assert.deepEqual((await reported({ type: "tool-result", output })).output, expected);
  }
});

test("an error is reported in text that the server can store", async () => {
  const thrown = async (error) => (await reported({ type: "tool-error", error })).error;
  assert.equal(await thrown(new Error("No order a\0b")), "Error: No order a\ufffdb");
  assert.equal(await thrown(`x${"\u{1f600}".repeat(2000)}`), `x${"\u{1f600}".repeat(999)}…`);
  assert.equal(await thrown(Object.create(null)), "(object: no text, because of TypeError)");
});

test("a function gives the token of each attempt, and names of calls come from a secret", async () => {
  const sent = [];
  const fetch = async (_url, { headers }) => {
    sent.push(headers.Authorization);
    return new Response(JSON.stringify(sent.length < 3 ? {} : WAITING), { status: sent.length < 3 ? 503 : 201 });
  };
  let number = 0;
  const token = async () => `token-${++number}`;
  const desk = new Desk("https://desk.example.com/", token, { fetch, secret: "the same everywhere" });
  await desk.ask("Pay?");
  assert.deepEqual(sent, ["Bearer token-1", "Bearer token-2", "Bearer token-3"]);
  const name = await desk.nameOf("content");
  assert.match(name, /^[0-9a-f]{40}$/);
  assert.equal(await desk.nameOf("content"), name);
  const nameless = new Desk("https://desk.example.com/", token, { fetch });
  await assert.rejects(nameless.nameOf("content"), /give `secret`, or set PAUSEPOINT_SECRET/);
  const broken = new Desk("https://desk.example.com/", () => "to\nken", { fetch });
  await assert.rejects(broken.ask("Pay?"), /only printable ASCII/);
});

test("the current trace context is sent where OpenTelemetry is loaded, without its baggage", async () => {
  const name = Symbol.for("opentelemetry.js.api.1");
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const sent = { traceparent, tracestate: "a=1", baggage: "who=alice" };
  const inject = (context, carrier, setter) => {
    assert.equal(context, "active");
    for (const [header, value] of Object.entries(sent)) setter.set(carrier, header, value);
  };
  const { desk, calls } = deskThatHears([[201, WAITING], [201, WAITING], [201, WAITING]]);
  try {
    await desk.ask("Pay?");
    globalThis[name] = { version: "1.9.1", trace: {} };
    await desk.ask("Pay?");
    globalThis[name] = { context: { active: () => "active" }, propagation: { inject } };
    await desk.ask("Pay?");
  } finally {
    delete globalThis[name];
  }
  const names = calls.map(({ headers }) => Object.keys(sent).filter((header) => header in headers));
  assert.deepEqual(names, [[], [], ["traceparent", "tracestate"]]);
  assert.equal(calls[2].headers.traceparent, traceparent);
});
