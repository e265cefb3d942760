/** A chat: its messages, its status, and the input field. */

import { useChat } from "@ai-sdk/react";
import { isToolUIPart, type UIMessage } from "ai";
import { useEffect, useLayoutEffect, useRef, useSyncExternalStore, type KeyboardEvent } from "react";
import type { Conversation, View } from "./conversation";
import { Text } from "./text";
import { Tool } from "./tool";

/** Sentences that the agent of the demo understands. */
const EXAMPLES = ["Please refund order 4711, 250 euros", "ask", "ask parallel", "ask human", "What is the weather in Paris"];

export function Room({ conversation }: { conversation: Conversation }) {
  const view = useSyncExternalStore(conversation.subscribe, conversation.snapshot);
  // `resume` follows a first response that is running. For a continuation the server answers 204, and `watch` polls.
  const { messages, status } = useChat({ chat: conversation.chat, resume: conversation.works });
  useEffect(() => conversation.watch(), [conversation]);
  useStayAtEnd(messages);
  const streams = status === "submitted" || status === "streaming";

  return (
    <>
      <main className="room" role="log" aria-busy={streams}>
        {messages.length === 0 && <Welcome conversation={conversation} />}
        {messages.map((message) => (
          <Message key={message.id} message={message} view={view} conversation={conversation} />
        ))}
        <Doing view={view} streams={streams} />
      </main>
      <footer className="foot">
        {view.offline && (
          <p className="notice problem" role="alert">
            {view.offline} Trying again…
          </p>
        )}
        {view.notice && (
          <div className={`notice ${view.notice.tone}`} role={view.notice.tone === "problem" ? "alert" : "status"}>
            <p>{view.notice.text}</p>
            <button type="button" className="quiet" aria-label="Dismiss" onClick={() => conversation.dismiss()}>
              ✕
            </button>
          </div>
        )}
        <Composer conversation={conversation} view={view} streams={streams} />
      </footer>
    </>
  );
}

function Message({ message, view, conversation }: { message: UIMessage; view: View; conversation: Conversation }) {
  return (
    <article className={`message ${message.role}`} aria-label={message.role === "user" ? "You" : "Agent"}>
      {message.parts.map((part, place) => {
        if (part.type === "text" && message.role === "user") return <p key={place}>{part.text}</p>;
        if (part.type === "text") return <Text key={place} text={part.text} />;
        if (part.type === "data-remark") return <Remark key={place} data={part.data} />;
        if (part.type === "source-url") return <Source key={place} url={part.url} title={part.title ?? part.url} />;
        if (!isToolUIPart(part)) return null;
        const asked = view.pending.find((one) => one.toolCallId === part.toolCallId);
        return <Tool key={part.toolCallId} part={part} asked={asked} conversation={conversation} />;
      })}
    </article>
  );
}

/** How the answer ended, if it is not simply whole. */
function Remark({ data }: { data: unknown }) {
  return <p className="doing">{(data as { text: string }).text}</p>;
}

/** A page that the answer cites. Its host is shown, because a title may say anything. */
function Source({ url, title }: { url: string; title: string }) {
  return (
    <p className="doing">
      Source:{" "}
      <a href={url} rel="noopener noreferrer nofollow">
        {title}
      </a>{" "}
      ({new URL(url).hostname})
    </p>
  );
}

function Doing({ view, streams }: { view: View; streams: boolean }) {
  if (streams || view.status === "queued" || view.status === "running") {
    return (
      <p className="doing">
        <span className="spinner" aria-hidden="true" /> Working…
      </p>
    );
  }
  if (view.status === "suspended") {
    const count = view.pending.length;
    return <p className="doing">{count > 1 ? `Waiting for ${count} answers.` : "Waiting for an answer."}</p>;
  }
  return view.status === "failed" ? <p className="doing">The last answer failed. Write again to continue.</p> : null;
}

function Welcome({ conversation }: { conversation: Conversation }) {
  return (
    <section className="welcome">
      <h1>How can I help?</h1>
      <p>When the agent needs a person, it asks here and in the Inbox of Pausepoint. The first answer counts.</p>
      <div className="examples">
        {EXAMPLES.map((text) => (
          <button key={text} type="button" onClick={() => say(conversation, text)}>
            {text}
          </button>
        ))}
      </div>
    </section>
  );
}

function Composer({ conversation, view, streams }: { conversation: Conversation; view: View; streams: boolean }) {
  const going = streams || view.status === "queued" || view.status === "running";
  const waits = view.status === "suspended";
  const ready = !going && !waits && view.draft.trim() !== "";
  const submit = () => {
    if (ready) say(conversation, view.draft.trim());
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        aria-label="Message"
        placeholder={waits ? "Answer above first" : "Write a message"}
        rows={1}
        autoFocus={matchMedia("(pointer: fine)").matches}
        value={view.draft}
        onChange={(event) => conversation.write(event.target.value)}
        onKeyDown={press}
      />
      {going || waits ? (
        <button type="button" title={waits ? "Stop, and cancel waiting requests" : "Stop"} onClick={() => void conversation.stop()}>
          Stop
        </button>
      ) : (
        <button className="primary" disabled={!ready}>
          Send
        </button>
      )}
    </form>
  );
}

function say(conversation: Conversation, text: string): void {
  if (!location.hash) history.pushState(null, "", `#${encodeURIComponent(conversation.chat.id)}`);
  conversation.send(text);
}

/** Scroll to the end while it grows, unless the reader has scrolled up. */
function useStayAtEnd(messages: UIMessage[]): void {
  const atEnd = useRef(true);
  useEffect(() => {
    const note = () => {
      atEnd.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    };
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    if (atEnd.current) scrollTo({ top: document.documentElement.scrollHeight });
  }, [messages]);
}
