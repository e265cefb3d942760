/** The card of a call that needs an approval. */

import { useId, useState } from "react";
import { Values } from "./values";

type Props = { input: unknown; onDecide: (approved: boolean, reason: string) => void };

export function Approval({ input, onDecide }: Props) {
  const [reason, setReason] = useState("");
  const id = useId();
  return (
    <>
      <Values value={input} />
      <label htmlFor={id}>Reason, for the agent to read</label>
      <input id={id} value={reason} onChange={(event) => setReason(event.target.value)} placeholder="Optional" autoComplete="off" />
      <div className="buttons">
        <button type="button" className="primary" onClick={() => onDecide(true, reason.trim())}>
          Approve
        </button>
        <button type="button" className="danger" onClick={() => onDecide(false, reason.trim())}>
          Reject
        </button>
      </div>
    </>
  );
}
