// The messages that a model plays, each a list of calls `[id, name, input]`: those of SCRIPT, or one with the calls of shared.mjs.
import * as shared from "./shared.mjs";

const { DROP, QUESTION, REFUND, idOf, reads, tell } = shared;
const calls = [["refund", REFUND], ["drop", DROP], ["askHuman", QUESTION]];
const own = [calls.map(([name, input]) => ({ id: idOf(name), name, input }))];
export const messages = () =>
  (shared.messages() ?? own).map((message) => message.map(({ id, name, input }) => [id, name, input]));
const textOf = (value) => (typeof value === "string" ? value : JSON.stringify(value));
// Tell what the model has read of its calls, in order, and the rest.
export const end = (read, found) => {
  for (const text of read) reads(text);
  tell({ read: read.map(textOf), ...found });
};
