// An agent of LangChain with a scripted model and gated tools. The code of the docs page replaces the marked line.
import { Scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { drop, look, refund } from "./tools.mjs";

const model = new Scripted();

// THE PAGE

end(model.read, { last: result.messages.at(-1).content, halted: result.__interrupt__?.[0].value.halted });
