// Runs real AI SDK chat clients for tests in Python: a JSON command per line in, a JSON answer per line out.
// Without React: AbstractChat with a state in memory that copies like the React binding does.
import { createInterface } from "node:readline";

const [sdk, base, token] = process.argv.slice(2);
const ai = await import(`ai${sdk}`);

class State {
  status = "ready";
  error = undefined;
  constructor(messages) { this.messages = messages; }
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = [...this.messages.slice(0, index), structuredClone(message), ...this.messages.slice(index + 1)];
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends ai.AbstractChat {
  constructor({ messages, ...init }) { super({ ...init, state: new State(messages) }); }
}

const chats = {};

// The calls that were answered here and not sent yet, as docs/how-to/ai-sdk.md says; the SDK's own predicates wait for all calls.
function sendsWhenAnswered(unsent) {
  return ({ messages }) => {
    const answered = (messages.at(-1)?.parts ?? []).some(
      (part) => unsent.has(part.toolCallId) && ["output-available", "output-error", "approval-responded"].includes(part.state),
    );
    if (answered) unsent.clear();
    return answered;
  };
}

function open({ name, id, messages = [], agent, own = false, queue = false }) {
  const posts = [];
  const unsent = new Set();
  let flying = 0;
  const counted = async (input, init) => {
    if (init?.method === "POST" && posts.length > 12) throw new Error("posts for ever");
    flying += 1;
    try {
      const response = await fetch(input, init);
      if (init?.method === "POST") posts.push(response.status);
      return response;
    } finally {
      flying -= 1;
    }
  };
  const chat = new Chat({
    id,
    messages,
    transport: new ai.DefaultChatTransport({
      api: `${base}/api/chat`, headers: { authorization: `Bearer ${token}` }, body: { agent }, fetch: counted,
    }),
    experimental_queue: queue,
    sendAutomaticallyWhen: own ? sendsWhenAnswered(unsent) : (options) =>
      ai.lastAssistantMessageIsCompleteWithToolCalls(options) || ai.lastAssistantMessageIsCompleteWithApprovalResponses(options),
  });
  chats[name] = { chat, posts, unsent, calm: () => flying === 0 && ["ready", "error"].includes(chat.status) };
}

// A client that sends by itself does so right after a stream: calm means calm at many looks in a row.
async function rest({ calm }) {
  for (let looks = 0; looks < 30; looks += 1) {
    await new Promise((done) => setTimeout(done, 5));
    if (!calm()) looks = 0;
  }
}

const acts = {
  send: (chat, { text, messageId, files }) => chat.sendMessage({ text, messageId, files }),
  answer: (chat, { call, tool, output }) => chat.addToolOutput({ tool, toolCallId: call, output }),
  decline: (chat, { call, tool, words }) => chat.addToolOutput({ tool, toolCallId: call, state: "output-error", errorText: words }),
  rule: (chat, { approval, approved, reason }) => chat.addToolApprovalResponse({ id: approval, approved, reason: reason ?? undefined }),
  regenerate: (chat) => chat.regenerate(),
  resume: (chat) => chat.resumeStream(),
  stop: (chat) => chat.stop(),
  look: () => undefined,
  // What `setMessages` of useChat does with a chat that was read.
  set: (chat, { messages }) => { chat.messages = messages; },
  now: (chat) => chat.experimental_sendQueuedMessageNow(chat.experimental_queuedMessages[0].id),
};

async function handle({ act, name, wait = true, ...given }) {
  if (act === "open") open({ name, ...given });
  const client = chats[name];
  if (act !== "open") {
    const asked = client.chat.messages.flatMap((message) => message.parts).find((part) => part.approval?.id === given.approval);
    client.unsent.add(given.call ?? (given.approval && asked?.toolCallId));
    const acting = acts[act](client.chat, given);
    if (wait) await acting;
  }
  if (wait) await rest(client);
  const { messages, status, error } = client.chat;
  const valid = messages.length ? await ai.safeValidateUIMessages({ messages: structuredClone(messages) }) : { success: true };
  const queued = (client.chat.experimental_queuedMessages ?? []).length;
  return { messages, status, error: error?.message ?? null, posts: client.posts, valid: valid.success, queued };
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify(await handle(JSON.parse(line))));
  } catch (error) {
    console.log(JSON.stringify({ failed: String(error?.stack ?? error) }));
  }
}
