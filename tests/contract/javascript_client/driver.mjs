// Runs the client for tests in Python: `[[method, ...arguments], ...]` from stdin, in order, and the results to stdout.
import { Desk, InvalidWebhook, Outcome, verifyWebhook } from "@pausepoint/client";
import { readFileSync } from "node:fs";

const desk = new Desk();
// Bytes are `{"base64": text}` in both directions.
const plain = (found) => {
  if (found instanceof Uint8Array) return { base64: Buffer.from(found).toString("base64") };
  return found instanceof Outcome ? { ...found, approved: found.approved, edited: found.edited } : found;
};
const withBytes = (_name, value) => (value?.base64 ? Uint8Array.from(Buffer.from(value.base64, "base64")) : value);
const acts = {
  async verify(...given) {
    try {
      return (await verifyWebhook(...given)).id;
    } catch (error) {
      if (!(error instanceof InvalidWebhook)) throw error;
      return { invalid: error.message };
    }
  },
  verified: (document) => new Outcome(document).verified(),
  report: async (document, result) => (await desk.report(new Outcome(document), result)) ?? null,
};
const found = [];
for (const [method, ...given] of JSON.parse(readFileSync(0, "utf8"), withBytes)) {
  try {
    found.push(plain(await (acts[method] ?? desk[method].bind(desk))(...given)));
  } catch (error) {
    found.push({ error: error.name, code: error.code, message: error.message });
  }
}
console.log(JSON.stringify(found));
