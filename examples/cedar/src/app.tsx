import { useCedarStore, useSubscribeStateToAgentContext, type Message } from "cedar-os";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Asked, type Suspended } from "./asked";
import { handOverWhatWaits } from "./desk";

/** A chat on Cedar's store: its messages, and the input that Cedar sends. */
export function App({ thread }: { thread: string }) {
  const messages = useCedarStore((state) => state.messages);
  const busy = useCedarStore((state) => state.isProcessing);
  const asked = useCedarStore((state) => "humanInTheLoop" in state.registeredStates);
  const end = useRef<HTMLDivElement>(null);
  // No message is sent before: a request that it leads to would be in the list, too, and Cedar would show it twice.
  const [ready, setReady] = useState(false);
  useEffect(() => void handOverWhatWaits(thread).finally(() => setReady(true)), [thread]);
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [messages]);
  return (
    <main>
      {messages.length === 0 && <p className="soft">Write “approve payment”, “ask” or “hello”.</p>}
      {messages.map((message) => (
        <Shown key={message.id} message={message} />
      ))}
      {busy && <p role="status" className="soft">The agent is working.</p>}
      {asked && <TellTheAssistant />}
      <Composer busy={busy || !ready} />
      <div ref={end} />
    </main>
  );
}

type Run = { runId: string; state: string; suspendedAt: string; suspendPayload: { input: unknown } };

/** Waiting requests are sent with every message, so that the agent can talk about them. Cedar has this state after the first run. */
function TellTheAssistant() {
  // Only suspended runs: Cedar keeps every run that it ever saw, and Pausepoint accepts 50,000 bytes with a message.
  useSubscribeStateToAgentContext("humanInTheLoop", (runs: Record<string, Run>) => ({
    suspendedWorkflows: Object.values(runs)
      .filter((run) => run.state === "suspended")
      .map(({ runId, suspendedAt, suspendPayload }) => ({ runId, suspendedAt, input: suspendPayload.input })),
  }));
  return null;
}

function Shown({ message }: { message: Message }) {
  switch (message.type) {
    case "humanInTheLoop":
      return <Asked message={message as unknown as Suspended} />;
    case "progress_update":
      return <p role="alert" className="note">{"text" in message ? String(message.text) : message.content}</p>;
    default:
      return <article className={message.role} aria-label={message.role === "user" ? "You" : "Agent"}>{message.content}</article>;
  }
}

function Composer({ busy }: { busy: boolean }) {
  const [text, setText] = useState("");
  const send = (event: FormEvent) => {
    event.preventDefault();
    const { setChatInputContent, sendMessage } = useCedarStore.getState();
    setChatInputContent({ type: "doc", content: [{ type: "paragraph", content: [{ type: "text", text }] }] });
    setText("");
    void sendMessage({ stream: true });
  };
  return (
    <form onSubmit={send} className="composer">
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} maxLength={20000} />
      <button disabled={busy || !text.trim()}>Send</button>
    </form>
  );
}
