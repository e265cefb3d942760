// The messages that a model plays, each a list of calls: those of SCRIPT, or one with the calls of shared.mjs. A call is
// `[id, name, input]`; one with an empty id has none.
import { appendFileSync } from "node:fs";
import { DROP, QUESTION, REFUND, drop, idOf, tell } from "./shared.mjs";

const { EFFECTS, LOCKED, SCRIPT } = process.env;
const calls = [["refund", REFUND], ["drop", DROP], ["askHuman", QUESTION]];
export const messages = () => (SCRIPT ? JSON.parse(SCRIPT) : [calls.map(([name, input]) => [idOf(name), name, input])]);
export const dropped = (input) => {
  const result = drop(input);
  if (LOCKED) throw new Error("orders is locked");
  return result;
};
export const look = ({ order }) => {
  if (EFFECTS) appendFileSync(EFFECTS, `${JSON.stringify("looked")}\n`);
  return `order ${order}`;
};
const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));
// Tell what the model has read of its calls, in order, and the rest.
export const end = (read, found) => tell({ read: read.map(textOf), ...found });
