// What the programs share: the model's wishes, the tools, and how the end is told to the test.
import { appendFileSync, existsSync } from "node:fs";

export const threadId = process.argv[2];
export const REFUND = { order: "4711", amount: 250 };
export const CHANGED = { order: "4711", amount: 99 };
export const DROP = { table: "orders" };
export const QUESTION = { question: "Which colour?", options: ["red", "blue"] };
export const idOf = (name) => `${threadId}-${name}`;

const { CALM, EFFECTS, HANG, LOCKED, SCRIPT } = process.env;
// The messages that the model plays, each a list of calls; one with an empty id has none. Without SCRIPT, there are none.
export const messages = () => SCRIPT && JSON.parse(SCRIPT).map((calls) => calls.map(([id, name, input]) => ({ id, name, input })));
// A condition by which calls ask, until the file CALM is there.
export const asks = () => !existsSync(CALM);
const leaveALine = (line) => EFFECTS && appendFileSync(EFFECTS, `${line}\n`);
const ran = [];
// Note the effect of a tool, for this process and, with EFFECTS, in a file that outlives it.
const happens = (what) => {
  ran.push(what);
  leaveALine(JSON.stringify(what));
};
// With HANG, never go on from there: the process can be killed at that moment.
const hang = (where) => {
  if (HANG !== where) return;
  leaveALine(`waits ${where}`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
// The effects since the last time.
export const effects = () => ran.splice(0);
// Two resumers of one process meet here, if both run the tool.
let meet;
export const meeting = () => meet?.();
// Resume twice at the same time; return how often the approved refund has run.
export const twice = async (resume) => {
  effects();
  let come = 0;
  let both;
  const together = new Promise((resolve) => {
    both = resolve;
  });
  meet = () => {
    come += 1;
    if (come === 2) both();
    return Promise.race([together, new Promise((resolve) => setTimeout(resolve, 2000))]);
  };
  await Promise.allSettled([resume(), resume()]);
  meet = undefined;
  return { 1: "once", 2: "twice" }[effects().filter((effect) => Array.isArray(effect)).length];
};
export const refund = ({ order, amount }) => {
  hang("before the effect");
  happens([order, amount]);
  hang("after the effect");
  return `refunded ${amount}`;
};
export const drop = ({ table }) => {
  happens(table);
  if (LOCKED) throw new Error(`${table} is locked`);
  return "dropped";
};
export const look = ({ order }) => {
  happens("looked");
  return `order ${order}`;
};
const texts = [];
// Note what the model reads of a call, for a script.
export const reads = (text) => texts.push(typeof text === "string" ? text : JSON.stringify(text));
export const tell = (found) => console.log(`TOLD ${JSON.stringify({ ran, ...found, ...(SCRIPT && { read: texts }) })}`);
