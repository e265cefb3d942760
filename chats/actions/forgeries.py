"""Refuse forged tool parts: those that contradict the stored call beyond the changes that an answer may make."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.db.canonical_json import same_json
from approvals.json_types import JsonMapping
from chats.exceptions import Forged
from chats.history import tool_name
from chats.queries.values import CallView
from chats.states import CallState

#: The states in which a part answers its call, or repeats its end. Parts in other states are ignored.
_ANSWERS = frozenset(
    {"approval-responded", "output-available", "output-error", "output-denied"}
)
_ENDED_WITHOUT_OUTPUT = frozenset({CallState.FAILED, CallState.CANCELLED})


def check_part(part: JsonMapping, call: CallView) -> None:
    """Raise Forged if a tool part (AI SDK UIMessage, shape checked) contains data that only the server can know."""
    if part["state"] not in _ANSWERS:
        return
    if call.request_id and tool_name(part) != call.name:
        # A person who saw another tool did not answer this request.
        raise Forged(
            _("The tool differs from the stored one, which is the one to decide on."),
            call.tool_call_id,
        )
    if part["state"] == "output-available" and "output" not in part:
        raise Forged(_("The output is missing."), call.tool_call_id)
    if not call.request_id or call.attempt:
        _check_run(part, call)
    elif call.approval_id:
        _check_approval(part, call)
    else:
        _check_question(part, call)


def contradicts(part: JsonMapping, call: CallView) -> bool:
    """Return whether a checked part of a call whose request has ended differs from the actual end."""
    match part["state"]:
        case "approval-responded":
            return bool(part["approval"]["approved"] != bool(call.approved))
        case "output-available":
            return not _repeats_output(part, call)
        case "output-error":
            return call.state not in _ENDED_WITHOUT_OUTPUT
        case _:
            return False


def _check_run(part: JsonMapping, call: CallView) -> None:
    """Check a call that the server runs or ran itself: a client can only repeat its outcome."""
    match part["state"]:
        case "approval-responded" if call.request_id:
            _check_approval(part, call)
        case "output-available" if _repeats_output(part, call):
            return
        case "output-error" if call.state in _ENDED_WITHOUT_OUTPUT:
            return
        case _:
            problem = _(
                "%(name)s runs on the server, so a client cannot send its outcome."
            )
            raise Forged(problem % {"name": call.name}, call.tool_call_id)


def _check_approval(part: JsonMapping, call: CallView) -> None:
    match part["state"]:
        case "output-error" if call.state in _ENDED_WITHOUT_OUTPUT:
            return
        case "output-denied" if call.state == CallState.DENIED:
            return
        case "approval-responded":
            pass
        case _:
            problem = _(
                "%(name)s is waiting for approval, so a client cannot send its outcome."
            )
            raise Forged(problem % {"name": call.name}, call.tool_call_id)
    sent = part.get("approval")
    approval = sent if isinstance(sent, dict) else {}
    if approval.get("id") != call.request_id:
        raise Forged(
            _("This approval id belongs to a different call."), call.tool_call_id
        )
    if not isinstance(approval.get("approved"), bool) or not isinstance(
        approval.get("reason") or "", str
    ):
        raise Forged(
            _("An approval must be true or false, and its reason must be text."),
            call.tool_call_id,
        )
    _check_input(part, call)


def _check_question(part: JsonMapping, call: CallView) -> None:
    if part["state"] in {"approval-responded", "output-denied"}:
        problem = _("%(name)s is a question. Send its answer as the output.")
        raise Forged(problem % {"name": call.name}, call.tool_call_id)
    if part["state"] == "output-error" and not isinstance(
        part.get("errorText", ""), str
    ):
        raise Forged(_("An error must be text."), call.tool_call_id)
    _check_input(part, call)


def _check_input(part: JsonMapping, call: CallView) -> None:
    """Check the input: a person who saw another input than the stored one did not answer this request."""
    pending = call.approved is None if call.approval_id else not call.decided
    if pending and "input" in part and not same_json(part["input"], call.input):
        raise Forged(
            _(
                "The input differs from the stored input, which is the one to decide on."
            ),
            call.tool_call_id,
        )


def _repeats_output(part: JsonMapping, call: CallView) -> bool:
    return call.state == CallState.SUCCEEDED and same_json(part["output"], call.output)
