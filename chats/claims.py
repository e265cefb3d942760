"""What a client's copy of a tool call claims, held against the stored call: an answer, an echo, or a forgery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.asks import ABSENT
from approvals.models import ApprovalRequest
from approvals.runtime.canonical import NotCanonical, canonical
from approvals.states import Kind, Status, Verdict
from chats.exceptions import Forged
from chats.models import ToolCall
from chats.states import CallState


class Standing(Enum):
    """NEW answers an open call; LATE says something else than what is stored; ECHO says what is known, or nothing."""

    NEW = "new"
    LATE = "late"
    ECHO = "echo"


@dataclass(frozen=True, slots=True)
class Said:
    """What a part says about its call; the verdict and its company only where it is NEW."""

    standing: Standing
    call: ToolCall
    verdict: Verdict | None = None
    comment: str = ""
    answer: Any = ABSENT


def read(part: Mapping[str, Any], call: ToolCall) -> Said:
    """Weigh a tool part of a client's message (shape checked). Forged for what only the server can say."""
    asked, state = call.approval, part["state"]
    if state not in {"approval-responded", "output-available", "output-error", "output-denied"}:
        return Said(Standing.ECHO, call)
    if state == "output-available" and "output" not in part:
        raise Forged(_("The output is missing."), call.tool_call_id)
    if asked is None or call.attempt:
        return _of_a_run(part, call)
    if asked.kind == Kind.APPROVAL:
        return _of_an_approval(part, call, asked)
    return _of_a_question(part, call, asked)


def _of_a_run(part: Mapping[str, Any], call: ToolCall) -> Said:
    """Of a call that the server runs or ran itself, a client can only repeat the outcome."""
    match part["state"]:
        case "approval-responded" if call.approval is not None:
            return _of_an_approval(part, call, call.approval)
        case "output-available" if call.state == CallState.SUCCEEDED and _same(part["output"], call.output):
            return Said(Standing.ECHO, call)
        case "output-error" if call.state in {CallState.FAILED, CallState.CANCELLED}:
            return Said(Standing.ECHO, call)
    raise Forged(
        _("%(name)s runs on the server, so a client cannot send its outcome.") % {"name": call.name}, call.tool_call_id
    )


def _of_an_approval(part: Mapping[str, Any], call: ToolCall, asked: ApprovalRequest) -> Said:
    if part["state"] == "output-error" and call.state in {CallState.FAILED, CallState.CANCELLED}:
        return Said(Standing.ECHO, call)
    if part["state"] == "output-denied" and call.state == CallState.DENIED:
        return Said(Standing.ECHO, call)
    if part["state"] != "approval-responded":
        raise Forged(
            _("%(name)s is waiting for approval, so a client cannot send its outcome.") % {"name": call.name},
            call.tool_call_id,
        )
    approval = part.get("approval")
    given = approval if isinstance(approval, dict) else {}
    if given.get("id") != str(asked.pk):
        raise Forged(_("This approval id belongs to a different call."), call.tool_call_id)
    approved, reason = given.get("approved"), given.get("reason") or ""
    if not isinstance(approved, bool) or not isinstance(reason, str):
        raise Forged(_("An approval must be true or false, and its reason must be text."), call.tool_call_id)
    if asked.status != Status.PENDING:
        return Said(Standing.ECHO if approved == (asked.status == Status.APPROVED) else Standing.LATE, call)
    _check_input(part, call)
    return Said(Standing.NEW, call, Verdict.APPROVE if approved else Verdict.REJECT, comment=reason)


def _of_a_question(part: Mapping[str, Any], call: ToolCall, asked: ApprovalRequest) -> Said:
    if part["state"] in {"approval-responded", "output-denied"}:
        raise Forged(
            _("%(name)s is a question. Send its answer as the output.") % {"name": call.name}, call.tool_call_id
        )
    declined = part["state"] == "output-error"
    words = part.get("errorText", "") if declined else ""
    if not isinstance(words, str):
        raise Forged(_("An error must be text."), call.tool_call_id)
    if asked.status == Status.PENDING:
        _check_input(part, call)
        if declined:
            return Said(Standing.NEW, call, Verdict.REJECT, comment=words)
        return Said(Standing.NEW, call, Verdict.RESPOND, answer=part["output"])
    if declined:
        return Said(Standing.ECHO if call.state in {CallState.FAILED, CallState.CANCELLED} else Standing.LATE, call)
    known = call.state == CallState.SUCCEEDED and _same(part["output"], call.output)
    return Said(Standing.ECHO if known else Standing.LATE, call)


def _check_input(part: Mapping[str, Any], call: ToolCall) -> None:
    """Whoever was shown another input than the stored one did not answer this question."""
    if "input" in part and not _same(part["input"], call.input):
        raise Forged(_("The input differs from the stored input, which is the one to decide on."), call.tool_call_id)


def _same(one: Any, other: Any) -> bool:
    try:
        return canonical(one) == canonical(other)
    except NotCanonical:
        return False
