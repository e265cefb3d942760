// The tools of the programs.
import { z } from "genkit";
import { drop as dropOrders, look as lookAt, refund as refundOrder } from "./shared.mjs";

export const toolsOf = (ai) => ({
  refund: ai.defineTool(
    {
      name: "refund",
      description: "Refund an order.",
      inputSchema: z.object({ order: z.string(), amount: z.number() }),
      outputSchema: z.string(),
    },
    async (input) => refundOrder(input),
  ),
  drop: ai.defineTool(
    { name: "drop", description: "Drop a table.", inputSchema: z.object({ table: z.string() }), outputSchema: z.string() },
    async (input) => dropOrders(input),
  ),
  look: ai.defineTool(
    { name: "look", description: "Look.", inputSchema: z.object({ order: z.string() }), outputSchema: z.string() },
    async (input) => lookAt(input),
  ),
});
