// A program of Genkit with a scripted model and gated tools. The code of the docs page replaces the marked line.
import { genkit } from "genkit";
import { scripted } from "./model.mjs";
import { end } from "./script.mjs";
import { threadId } from "./shared.mjs";
import { toolsOf } from "./tools.mjs";

const ai = genkit({});
const { model, read } = scripted(ai);
const { refund, drop, look } = toolsOf(ai);

// THE PAGE

end(read, { last: response.text });
