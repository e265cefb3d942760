"""A request and its end as values for the encoders of protocols, with the texts that an agent reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from approvals.asking.answers import answer_text
from approvals.models import ApprovalRequest
from approvals.states import ASK_HUMAN, Door, Verdict

UNANSWERED = "No one answered before the deadline."
HALTED = "No one answered before the deadline, and the policy stops the run."
CANCELLED = "The request was cancelled."
DECLINED = "The person declined to answer."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it was asked: times in ms since 1970, `timeout` in ms (0 means none), `default` None without one."""

    request_id: str
    thread_id: str
    kind: str
    title: str
    created_at: int
    message: str = ""
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
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


def asked(request: ApprovalRequest) -> Asked:
    """Return the request for the encoder; none of it changes after asking."""
    workflow = request.workflow
    labels = [option["label"] for option in request.options]
    return Asked(
        request_id=str(request.pk),
        thread_id=workflow.thread_id or workflow.key,
        kind=request.kind,
        title=request.title,
        message=request.message,
        tool=request.tool_name,
        input=request.input,
        schema=request.response_schema,
        context=request.context,
        priority=request.priority,
        created_at=ms(request.created_at),
        timeout=_timeout(request),
        default=answer_text(request.default_response) if request.has_default else None,
        suggestions=[*labels, *request.suggestions],
    )


def ended(request: ApprovalRequest) -> Ended:
    """Return how the request ended, for the encoder."""
    decision = request.decision
    verdict = Verdict(decision.verdict)
    edited = verdict == Verdict.EDIT
    value = decision.edited_input if edited else decision.answer
    return Ended(
        status=request.status,
        verdict=verdict.value,
        has_value=edited or verdict == Verdict.RESPOND or (verdict == Verdict.EXPIRE and request.has_default),
        value=value,
        text=answer_text(decision.answer),
        comment=decision.comment,
        stopped=decision.via == Door.STOP or request.halted,
    )


def response_of(ended: Ended) -> str:
    """Return the text that the agent gets as the answer to a question."""
    if ended.status == "rejected":
        return f"{DECLINED} Their words: {ended.comment}" if ended.comment else DECLINED
    return ended.text


def error_of(request: Asked, ended: Ended) -> str | None:
    """Return why the agent gets no answer; None if it gets one. An expired approval counts as rejected, which is an answer."""
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
