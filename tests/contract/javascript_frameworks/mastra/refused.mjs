// What `gate` refuses at once, and what does not run of a changed input.
import { createTool } from "@mastra/core/tools";
import { gate } from "@pausepoint/client/mastra";
import { z } from "zod";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, refund } from "./tools.mjs";

const refusalOf = (make) => {
  try {
    make();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const hosted = createTool({ id: "hosted", description: "Hosted." });
const suspending = createTool({
  id: "suspending",
  description: "Suspends itself.",
  suspendSchema: z.object({}),
  execute: async () => "never",
});
const refusals = [
  refusalOf(() => gate({ refund, drop }, { tools: ["refnd"] })),
  refusalOf(() => gate({ refund, drop }, { tools: [] })),
  refusalOf(() => gate({ refund, hosted })),
  refusalOf(() => gate({ suspending })),
];
const paid = [];
const pay = createTool({
  id: "pay",
  description: "Pay.",
  inputSchema: z.object({ euros: z.number() }).transform(({ euros }) => ({ euros: euros * 100 })),
  execute: async ({ euros }) => {
    paid.push(euros);
    return { paid: euros };
  },
  toModelOutput: (output) => ({ type: "text", value: `paid ${output.paid} cents` }),
});
const tools = gate({ pay }, { threadId });
const contextOf = (toolCallId) => ({ runId: "run", agent: { toolCallId, messages: [] } });
const read = [];
for (const id of ["first", "second"]) {
  try {
    const output = await tools.pay.execute({ euros: 5 }, contextOf(id));
    const made = await tools.pay.toModelOutput(output);
    read.push(made.value);
  } catch (error) {
    read.push(error.message);
  }
}
end(read, { refusals, paid });
