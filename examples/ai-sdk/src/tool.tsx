/** A tool call: a card if people are or were asked, otherwise one line that expands. */

import { getToolName } from "ai";
import { useRef, type ReactNode } from "react";
import { Approval } from "./approval";
import type { Conversation } from "./conversation";
import type { Pending } from "./desk";
import { Answer, Question, questionOf } from "./question";
import { Values } from "./values";
import { titleOf, type ToolPart } from "./words";

type Props = { part: ToolPart; asked: Pending | undefined; conversation: Conversation };

export function Tool({ part, asked, conversation }: Props) {
  const card = useRef<HTMLElement>(null);
  const question = part.state === "input-streaming" ? null : questionOf(getToolName(part), part.input);
  if (!question && !part.approval && !asked) return <Run part={part} />;

  // The buttons disappear after a press; keep the focus on the card.
  const settle = (act: () => void) => {
    card.current?.focus({ preventScroll: true });
    act();
  };
  const [tone, badge] = standing(part, asked);
  return (
    <section ref={card} tabIndex={-1} className={`card ${tone}`} aria-label={titleOf(part)}>
      <header>
        <h2>{titleOf(part)}</h2>
        <span className="badge">{badge}</span>
      </header>
      {body()}
      {asked?.deadline && <p className="hint">Until {new Date(asked.deadline).toLocaleString()}.</p>}
    </section>
  );

  function body(): ReactNode {
    if (question && part.state === "input-available") {
      const answer = (output: unknown) =>
        settle(() => conversation.answer(getToolName(part), part.toolCallId, output));
      return <Question question={question} onAnswer={answer} />;
    }
    if (question) return part.state === "output-available" ? <Answer output={part.output} /> : <Outcome part={part} />;
    if (part.state === "approval-requested") {
      const decide = (approved: boolean, reason: string) =>
        settle(() => conversation.decide(part.approval.id, part.toolCallId, approved, reason));
      return <Approval input={part.input} onDecide={decide} />;
    }
    return (
      <>
        <Values value={part.input} />
        {asked && part.state === "input-available" ? <Elsewhere asked={asked} /> : <Outcome part={part} />}
      </>
    );
  }
}

/** A call that needs no person. */
function Run({ part }: { part: ToolPart }) {
  const [tone, badge] = standing(part, undefined);
  return (
    <details className={`run ${tone}`}>
      <summary>
        {titleOf(part)} <span className="badge">{badge}</span>
      </summary>
      <Values value={part.input} />
      <Outcome part={part} />
    </details>
  );
}

function Outcome({ part }: { part: ToolPart }) {
  const reason = part.approval && "reason" in part.approval ? part.approval.reason : undefined;
  return (
    <>
      {reason && <blockquote>{reason}</blockquote>}
      {part.state === "output-available" && (
        <details>
          <summary>Result</summary>
          <Values value={part.output} />
        </details>
      )}
      {part.state === "output-error" && <p className="error">{part.errorText}</p>}
    </>
  );
}

/** Requests that this page has no card for: forms, and calls whose outcome is unknown. */
function Elsewhere({ asked }: { asked: Pending }) {
  return (
    <p>
      <a href={asked.url} target="_blank" rel="noreferrer">
        Answer “{asked.title}” on the dashboard
      </a>
    </p>
  );
}

function standing(part: ToolPart, asked: Pending | undefined): [tone: string, badge: string] {
  const approved = part.approval?.approved;
  switch (part.state) {
    case "approval-requested":
      return ["waits", "needs approval"];
    case "approval-responded":
      return approved ? ["works", "approved, running"] : ["bad", "rejected"];
    case "output-available":
      return ["good", part.approval ? "approved" : questionOf(getToolName(part), part.input) ? "answered" : "done"];
    case "output-denied":
      return ["bad", "rejected"];
    case "output-error":
      return ["bad", approved ? "approved, but failed" : questionOf(getToolName(part), part.input) ? "closed" : "failed"];
    case "input-available":
      return asked || questionOf(getToolName(part), part.input) ? ["waits", "needs an answer"] : ["works", "running"];
    default:
      return ["works", "preparing"];
  }
}
