// Runs the published cedar-os in jsdom for tests in Python: a JSON command per line in, a JSON answer per line out.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { JSDOM } from "jsdom";
import { repairHumanInTheLoop } from "../../../examples/cedar/src/humanInTheLoop.js";

const [baseURL, apiKey, repaired] = process.argv.slice(2);
const { window } = new JSDOM('<!doctype html><div id="page"></div>', { url: "http://localhost/", pretendToBeVisual: true });
const functions = ["getComputedStyle", "requestAnimationFrame", "cancelAnimationFrame"];
const names = ["document", "navigator", "localStorage", "HTMLElement", "Element", "Node", "MutationObserver", "DOMParser", ...functions];
const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
define("window", window);
for (const name of names) define(name, functions.includes(name) ? window[name].bind(window) : window[name]);
// Cedar writes to the console what it shows nobody; the answers are ours.
const said = [];
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = (...words) => void said.push(words.map(String).join(" "));

const posts = [];
const fetched = globalThis.fetch;
globalThis.fetch = async (address, init) => {
  const response = await fetched(address, init);
  const { pathname } = new URL(address);
  posts.push({ path: pathname, status: response.status, body: init?.body ? JSON.parse(init.body) : null });
  return response;
};

const require = createRequire(import.meta.url);
const React = require("react");
const { createRoot } = require("react-dom/client");
const cedar = require("cedar-os");
const store = cedar.useCedarStore;
const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
const cancelled = (runId) => fetch(`${baseURL}/chat/cancel`, { method: "POST", headers, body: JSON.stringify({ runId }) });
if (repaired === "repaired") repairHumanInTheLoop(store, cancelled);

function Page() {
  const messages = store((state) => state.messages);
  const last = messages.filter((message) => message.type === "humanInTheLoop").at(-1);
  return last ? cedar.humanInTheLoopMessageRenderer.render(last) : null;
}
const root = createRoot(document.getElementById("page"));
const show = (threadId) =>
  root.render(
    React.createElement(
      cedar.CedarCopilot,
      { threadId, llmProvider: { provider: "mastra", baseURL, apiKey } },
      React.createElement(Page),
    ),
  );

const until = async (probe, what) => {
  for (const end = Date.now() + 60_000; !probe(); await new Promise((done) => setTimeout(done, 5))) {
    if (Date.now() > end) throw new Error(`${what} did not happen; said: ${said.slice(-5).join("\n")}`);
  }
};
const messageOf = (run) => store.getState().messages.find((message) => message.runId === run && message.resumeCallback);
const write = (text) =>
  store.getState().setChatInputContent({ type: "doc", content: [{ type: "paragraph", content: [{ type: "text", text }] }] });

const acts = {
  open: async ({ thread }) => {
    show(thread);
    await until(() => store.getState().providerConfig && (!thread || store.getState().mainThreadId === thread), "mounting");
  },
  say: async ({ text, stream = true }) => {
    write(text);
    await store.getState().sendMessage({ stream });
  },
  draft: async ({ text }) => write(text),
  resume: ({ run, data }) => messageOf(run).resumeCallback(data),
  cancel: ({ run }) => messageOf(run).cancelCallback(),
  click: async ({ label }) => {
    const find = () => [...document.querySelectorAll("button")].find((button) => button.textContent === label && !button.disabled);
    await until(find, `a button ${label}`);
    find().click();
    await until(() => !document.body.textContent.includes("Processing..."), "the click is dealt with");
  },
  handle: ({ object }) => store.getState().handleLLMResponse(object),
  reload: async () => {
    const listed = await fetched(`${baseURL}/chat/suspended?threadId=${store.getState().mainThreadId}`, { headers });
    store.getState().setMessages([]);
    store.getState().unregisterState("humanInTheLoop");
    await store.getState().handleLLMResponse((await listed.json()).object);
  },
  look: () => undefined,
};

async function handle({ act, ...given }) {
  await acts[act](given);
  await until(() => !store.getState().isProcessing && !store.getState().isStreaming, "Cedar is done");
  const { messages } = store.getState();
  return { messages, waiting: store.getState().getCedarState("humanInTheLoop") ?? {}, posts, said };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await handle(JSON.parse(line));
  } catch (error) {
    answer = { failed: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
