// The tools of the programs.
import { tool } from "langchain";
import { z } from "zod";
import { drop as dropOrders, look as lookAt, refund as refundOrder } from "./shared.mjs";

export const refund = tool((input) => refundOrder(input), {
  name: "refund",
  description: "Refund an order.",
  schema: z.object({ order: z.string(), amount: z.number() }),
});
export const drop = tool((input) => dropOrders(input), {
  name: "drop",
  description: "Drop a table.",
  schema: z.object({ table: z.string() }),
});
export const look = tool((input) => lookAt(input), {
  name: "look",
  description: "Look at an order.",
  schema: z.object({ order: z.string() }),
});
