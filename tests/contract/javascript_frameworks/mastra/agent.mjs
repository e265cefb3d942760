// An agent of Mastra with a scripted model and gated tools. The code of the docs page replaces the marked line.
import { scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, look, refund } from "./tools.mjs";

const { model, read } = scripted();

// THE PAGE

end(read, { last: result.text, reason: result.finishReason, halted: result.suspendPayload?.suspendPayload?.halted });
