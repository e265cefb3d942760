// The tools of the programs.
import { tool } from "langchain";
import { z } from "zod";
import { refund as refundOrder } from "./shared.mjs";
import { dropped, look as lookAt } from "./script.mjs";

export const refund = tool((input) => refundOrder(input), {
  name: "refund",
  description: "Refund an order.",
  schema: z.object({ order: z.string(), amount: z.number() }),
});
export const drop = tool((input) => dropped(input), {
  name: "drop",
  description: "Drop a table.",
  schema: z.object({ table: z.string() }),
});
export const look = tool((input) => lookAt(input), {
  name: "look",
  description: "Look at an order.",
  schema: z.object({ order: z.string() }),
});
