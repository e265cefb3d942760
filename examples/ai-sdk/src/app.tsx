/** The page: which chat it shows (`#id`), loading it, and the layout. */

import { useEffect, useState } from "react";
import { Room } from "./room";
import { Conversation } from "./conversation";
import { Desk, Problem } from "./desk";

type Opened = { conversation: Conversation } | { problem: string } | null;

/** A new chat is added to the address with its first message; before that it does not exist. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function idInAddress(): string {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function open(id: string): Promise<Opened> {
  if (!id) return { conversation: new Conversation(new Desk(newId())) };
  const desk = new Desk(id);
  try {
    return { conversation: new Conversation(desk, (await desk.read()) ?? undefined) };
  } catch (error) {
    return { problem: Problem.of(error).detail };
  }
}

export function App() {
  const [id, setId] = useState(idInAddress);
  const [tries, setTries] = useState(0);
  const [opened, setOpened] = useState<Opened>(null);

  useEffect(() => {
    const follow = () => {
      setId(idInAddress());
      setTries((count) => count + 1);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  useEffect(() => {
    let current = true;
    setOpened(null);
    void open(id).then((found) => current && setOpened(found));
    return () => {
      current = false;
    };
  }, [id, tries]);

  const startNew = () => {
    history.pushState(null, "", location.pathname);
    setId("");
    setTries((count) => count + 1);
  };

  return (
    <>
      <header className="bar">
        <span className="brand">
          <Mark /> Support
        </span>
        <button type="button" className="quiet" onClick={startNew}>
          New chat
        </button>
      </header>
      {opened === null ? (
        <main className="center" aria-busy="true">
          <span className="spinner" aria-hidden="true" /> Reading the chat…
        </main>
      ) : "problem" in opened ? (
        <main className="center">
          <div className="notice problem" role="alert">
            <p>{opened.problem}</p>
            <button type="button" onClick={() => setTries((count) => count + 1)}>
              Try again
            </button>
          </div>
        </main>
      ) : (
        <Room key={opened.conversation.chat.id + tries} conversation={opened.conversation} />
      )}
    </>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="22" height="22" aria-hidden="true">
      <rect width="16" height="16" rx="4" className="mark" />
      <path d="M5 4.5h2v7H5zM9 4.5h2v7H9z" className="mark-bars" />
    </svg>
  );
}
