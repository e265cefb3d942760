"""A request and its end as values for protocol encoders, with the texts for the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from approvals.api.outcomes import ReadRequest
from approvals.asking.answers import answer_text
from approvals.json_types import JsonMapping
from approvals.models import ApprovalRequest
from approvals.states import ASK_HUMAN, Door, Verdict

UNANSWERED = "No one answered before the deadline."
HALTED = "No one answered before the deadline, and the policy stops the run."
CANCELLED = "The request was cancelled."
DECLINED = "The person declined to answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it was made: times in ms since 1970, `timeout` in ms (0 means none), `default` None without one."""

    request_id: str
    thread_id: str
    kind: str
    title: str
    created_at: int
    message: str = ""
    tool: str = ""
    input: JsonMapping = field(default_factory=dict)
    schema: JsonMapping | None = None
    context: Any = None
    priority: str = "normal"
    timeout: float = 0
    default: str | None = None
    suggestions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a request ended.

    `status` is a value of `states.Status`. `value` is the answer or the edited input, and `text` its text; `has_value`
    distinguishes a null from no value. `stopped`: the agent was stopped with it.
    """

    status: str
    verdict: str = ""
    has_value: bool = False
    value: Any = None
    text: str = ""
    comment: str = ""
    stopped: bool = False


def asked(request: ReadRequest) -> Asked:
    """Return the request for encoders; these values never change after it is made."""
    row = request.row
    workflow = request.row.workflow
    read = request.columns(
        [
            "title",
            "message",
            "input",
            "context",
            "options",
            "default_response",
            "suggestions",
        ]
    )
    labels = [option["label"] for option in read["options"]]
    return Asked(
        request_id=str(row.pk),
        thread_id=workflow.thread_id or workflow.key,
        kind=row.kind,
        title=read["title"],
        message=read["message"],
        tool=row.tool_name,
        input=read["input"],
        schema=row.response_schema,
        context=read["context"],
        priority=row.priority,
        created_at=ms(row.created_at),
        timeout=_timeout(row),
        default=answer_text(read["default_response"]) if row.has_default else None,
        suggestions=[*labels, *read["suggestions"]],
    )


def ended(request: ReadRequest) -> Ended:
    """Return the end of the request for encoders."""
    row = request.row
    decision = request.row.decision
    read = request.decided(decision)
    verdict = Verdict(decision.verdict)
    edited = verdict == Verdict.EDIT
    value = read["edited_input"] if edited else read["answer"]
    return Ended(
        status=row.status,
        verdict=verdict.value,
        has_value=edited
        or verdict == Verdict.RESPOND
        or (verdict == Verdict.EXPIRE and row.has_default),
        value=value,
        text=answer_text(read["answer"]),
        comment=read["comment"],
        stopped=decision.via == Door.STOP or row.halted,
    )


def response_of(ended: Ended) -> str:
    """Return the answer to a question as text for the agent."""
    if ended.status == "rejected":
        return f"{DECLINED} Their words: {ended.comment}" if ended.comment else DECLINED
    return ended.text


def error_of(request: Asked, ended: Ended) -> str | None:
    """Return why the agent gets no answer; None if it gets one. An expired approval is rejected, which counts as an answer."""
    if ended.status == "cancelled":
        return f"{CANCELLED} {ended.comment}" if ended.comment else CANCELLED
    if ended.status == "expired" and ended.stopped:
        return HALTED
    if ended.status == "expired" and not ended.has_value and request.kind != "approval":
        return UNANSWERED
    return None


def ms(moment: datetime) -> int:
    """Return milliseconds since 1970."""
    return round(moment.timestamp() * 1000)


def _timeout(request: ApprovalRequest) -> float:
    if request.workflow.source == ASK_HUMAN:
        return float(request.input.get("timeout", 0))
    left = request.deadline_at
    return max(1, ms(left) - ms(request.created_at)) if left is not None else 0
