// The tools of the programs.
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { drop as dropOrders, look as lookAt, refund as refundOrder } from "./shared.mjs";

export const refund = createTool({
  id: "refund",
  description: "Refund an order.",
  inputSchema: z.object({ order: z.string(), amount: z.number() }),
  execute: async (input) => refundOrder(input),
});
export const drop = createTool({
  id: "drop",
  description: "Drop a table.",
  inputSchema: z.object({ table: z.string() }),
  execute: async (input) => dropOrders(input),
});
export const look = createTool({
  id: "look",
  description: "Look at an order.",
  inputSchema: z.object({ order: z.string() }),
  execute: async (input) => lookAt(input),
});
