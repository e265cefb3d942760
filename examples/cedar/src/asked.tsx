import { useCedarStore } from "cedar-os";
import { useState } from "react";

/** Cedar's message for a suspended run, with the fields that Pausepoint sends. */
export type Suspended = {
  id: string;
  runId: string;
  state: "suspended" | "resumed" | "cancelled" | "timeout";
  content: string;
  suspendPayload: { requiresApproval: boolean; input: unknown; options?: { label: string }[] };
  resumeCallback(data: unknown): Promise<void>;
  cancelCallback(): Promise<void>;
};

/** A waiting request: approve, reject or answer it. Cedar adds a message for each later state of a run. */
export function Asked({ message }: { message: Suspended }) {
  const runs = useCedarStore((state) => state.registeredStates.humanInTheLoop?.value) as Record<string, { state: string }> | undefined;
  if (message.state !== "suspended") return <p className="soft">{message.content}</p>;
  return (
    <section aria-label={message.content.split("\n")[0]} className="card">
      <p>{message.content}</p>
      <pre>{JSON.stringify(message.suspendPayload.input, null, 2)}</pre>
      {runs?.[message.runId]?.state === "suspended" && <Choices message={message} />}
    </section>
  );
}

function Choices({ message }: { message: Suspended }) {
  const [words, setWords] = useState("");
  const { requiresApproval, options = [] } = message.suspendPayload;
  const say = (data: unknown) => void message.resumeCallback(data);
  if (!requiresApproval) {
    return (
      <div className="row">
        {options.map(({ label }) => (
          <button key={label} onClick={() => say({ selected: [label] })}>{label}</button>
        ))}
        {options.length === 0 && <p className="soft">Write the answer as your next message.</p>}
        <button className="plain" onClick={() => void message.cancelCallback()}>Cancel</button>
      </div>
    );
  }
  return (
    <div className="row">
      <button onClick={() => say({ approved: true })}>Approve</button>
      <input aria-label="Reason, for the agent to read" value={words} onChange={(event) => setWords(event.target.value)} />
      <button className="plain" onClick={() => say({ approved: false, feedback: words })}>Reject</button>
      <button className="plain" onClick={() => void message.cancelCallback()}>Cancel</button>
    </div>
  );
}
