// What the programs share: the model's wishes, the tools, and how the end is told to the test.
export const threadId = process.argv[2];
export const REFUND = { order: "4711", amount: 250 };
export const CHANGED = { order: "4711", amount: 99 };
export const DROP = { table: "orders" };
export const QUESTION = { question: "Which colour?", options: ["red", "blue"] };
export const idOf = (name) => `${threadId}-${name}`;

const ran = [];
export const refund = ({ order, amount }) => {
  ran.push([order, amount]);
  return `refunded ${amount}`;
};
export const drop = ({ table }) => {
  ran.push(table);
  return "dropped";
};
export const tell = (found) => console.log(`TOLD ${JSON.stringify({ ran, ...found })}`);
