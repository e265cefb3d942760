"""Hook answers in the formats of the agents. An answer that cannot be expressed blocks the call."""

from __future__ import annotations

import json

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.api.hooks.agents import HookEvent
from approvals.api.hooks.asks import QUESTION, questions_of
from approvals.api.hooks.bodies import HookCall
from approvals.api.outcomes import approved_words
from approvals.api.votes import waiting_words
from approvals.asking.answers import answer_text
from approvals.db.canonical_json import same_json
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, Decision
from approvals.queries.policy.deciders import warnings_of
from approvals.states import Door, Kind, Verdict

#: Longer inputs are not repeated to a model that has to send them itself.
MAX_REPEATED = 4_000
_HALTED = gettext_lazy(
    "No one decided in time, so the policy stops the run. Do nothing more."
)

Answer = JsonDict


def answer_of(call: HookCall, request: ApprovalRequest) -> Answer:
    """Return the answer to a call whose request has ended, or was not decided in time."""
    decision = None if request.pending else request.decision
    if call.event == HookEvent.ELICITATION:
        return _elicited(request, decision)
    if decision is None:
        return denied(call, _pending(request))
    if decision.verdict == Verdict.RESPOND:
        return _allowed(
            call,
            decision,
            {**call.input, "answers": _answers(call, request, decision)},
            changed=True,
        )
    if decision.verdict == Verdict.APPROVE:
        return _allowed(call, decision, call.input, changed=False)
    if decision.verdict == Verdict.EDIT:
        return _allowed(call, decision, decision.edited_input, changed=True)
    answer = denied(call, _refusal(request, decision))
    # Codex would let the call run after an unknown field.
    return (
        answer | {"continue": False, "stopReason": str(_HALTED)}
        if request.halted and call.agent.stops
        else answer
    )


def deferred(call: HookCall, request: ApprovalRequest) -> Answer:
    """Return the answer that ends the agent's process; once resumed, it asks about the same call again."""
    output = {
        "permissionDecision": "defer",
        "permissionDecisionReason": _pending(request),
    }
    return {"hookSpecificOutput": {"hookEventName": call.event, **output}}


def denied(call: HookCall, reason: str) -> Answer:
    """Return the answer that blocks a tool call."""
    if call.event == HookEvent.PRE_TOOL_USE:
        output: Answer = {
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    else:
        output = {"decision": {"behavior": "deny", "message": reason}}
    return {"hookSpecificOutput": {"hookEventName": call.event, **output}}


def taken(call: HookCall, request: ApprovalRequest) -> Answer:
    """Return the answer to a call that waited for an approval that another call used."""
    if call.event == HookEvent.ELICITATION:
        return _elicited(request, None)
    message = _(
        "A person approved one call like this, and another call has already used that approval: %(call)s."
    )
    more = _(
        "So this call was not run. If it has to run again, call the tool again, and a person will be asked."
    )
    return denied(call, f"{message % {'call': request.taken}} {more}")


def kept_back(call: HookCall, request: ApprovalRequest) -> Answer:
    """Return the answer that keeps a prompt from the model while a deferred call of its session is pending."""
    message = _("A call of this session is still waiting for a decision: %(url)s") % {
        "url": request.public_url
    }
    more = _(
        "So this prompt was not sent, because the call would be lost. Resume the session after the decision, "
        "or cancel the request."
    )
    output = {"hookEventName": call.event}
    return {
        "decision": "block",
        "reason": f"{message} {more}",
        "hookSpecificOutput": output,
    }


def told_afterwards(call: HookCall, request: ApprovalRequest) -> Answer:
    """Return the notes for the model beside the result of an approved call; empty if it ran unchanged and without a comment.

    They are not part of the answer before the call, because agents differ in the fields they accept there, and an unknown field
    lets the call run.
    """
    decision = request.decision
    notes = []
    if decision.verdict == Verdict.EDIT:
        notes.append(_changed(request.input, decision.edited_input or {}))
    if comment := decision.comment.strip():
        notes.append(
            _("The person who approved this call says: %(comment)s")
            % {"comment": comment}
        )
    if not notes:
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": call.event,
            "additionalContext": "\n\n".join(notes),
        }
    }


def _changed(before: JsonMapping, after: JsonMapping) -> str:
    names = sorted(
        name
        for name in {*before, *after}
        if name not in after or not same_json(before.get(name), after[name])
    )
    message = _(
        "A person approved this call with changes, so it ran with a different input than you sent. Changed: %(names)s."
    )
    text = json.dumps(after, ensure_ascii=False)
    more = _("It ran with this input: %(input)s") if len(text) <= MAX_REPEATED else ""
    return " ".join(
        [
            message % {"names": ", ".join(names)[:MAX_REPEATED]},
            *([more % {"input": text}] if more else []),
        ]
    )


def _allowed(
    call: HookCall,
    decision: Decision,
    approved: JsonMapping | None,
    *,
    changed: bool,
) -> Answer:
    """Return the answer that lets a call run, always with the approved input.

    Codex accepts no approval without it, nor does Claude Code for a plan. If another hook rewrites the call, an answer without
    the input would let an unseen call run.
    """
    tool_input = dict(approved or {})
    before_call = call.event == HookEvent.PRE_TOOL_USE
    edits = call.agent.edits_calls if before_call else call.agent.edits_permissions
    if changed and not edits:
        # Approving it as proposed would run an input that was not approved.
        return denied(call, _change(call, tool_input))
    if before_call:
        reason = approved_words(decision)
        output: Answer = {
            "permissionDecision": "allow",
            "permissionDecisionReason": reason,
            "updatedInput": tool_input,
        }
    else:
        sent = {"updatedInput": tool_input} if edits else {}
        output = {"decision": {"behavior": "allow", **sent}}
    return {"hookSpecificOutput": {"hookEventName": call.event, **output}}


def _elicited(request: ApprovalRequest, decision: Decision | None) -> Answer:
    output: Answer = {"action": "cancel"}
    if decision is not None and decision.verdict == Verdict.RESPOND:
        output = {"action": "accept", "content": decision.answer}
    elif (
        decision is not None
        and request.kind == Kind.APPROVAL
        and decision.verdict == Verdict.APPROVE
    ):
        output = {"action": "accept"}
    elif decision is not None and decision.verdict in {Verdict.REJECT, Verdict.EDIT}:
        # A changed address is not the one that the server wants to open.
        output = {"action": "decline"}
    return {"hookSpecificOutput": {"hookEventName": HookEvent.ELICITATION, **output}}


def _answers(
    call: HookCall, request: ApprovalRequest, decision: Decision
) -> dict[str, str]:
    """Return the answers by question text, as in Claude Code's own form."""
    questions = questions_of(call)
    if request.kind == Kind.QUESTION:
        return {questions[0]["question"]: answer_text(decision.answer)}
    responses = decision.answer if isinstance(decision.answer, dict) else {}
    values = {
        question["question"]: responses.get(f"{QUESTION}{number}", "")
        for number, question in enumerate(questions, 1)
    }
    return {
        text: ", ".join(answer) if isinstance(answer, list) else str(answer)
        for text, answer in values.items()
    }


def _change(call: HookCall, tool_input: JsonMapping) -> str:
    text = json.dumps(tool_input, ensure_ascii=False)
    message = _(
        "A person approved this call only with changes, which %(agent)s cannot make itself."
    )
    more = (
        _("Call the tool with this input: %(input)s")
        if len(text) <= MAX_REPEATED
        else ""
    )
    return " ".join(
        [
            message % {"agent": call.agent.name},
            *([more % {"input": text}] if more else []),
        ]
    )


def _refusal(request: ApprovalRequest, decision: Decision) -> str:
    comment = decision.comment.strip()
    reason = f": {comment}" if comment else ""
    reason += "" if comment.endswith((".", "!", "?")) else "."
    if request.halted:
        return str(_HALTED)
    if decision.verdict == Verdict.EXPIRE:
        return _("No one decided in time, so this call was not run.")
    if decision.verdict == Verdict.CANCEL:
        return _("This call was cancelled%(reason)s Do not repeat it.") % {
            "reason": reason
        }
    if request.kind in {Kind.QUESTION, Kind.FORM}:
        return _("A person declined to answer%(reason)s") % {"reason": reason}
    if decision.via == Door.RULE:
        return _("The policy denies this call%(reason)s Do not repeat it.") % {
            "reason": reason
        }
    return _("A person declined this call%(reason)s Do not repeat it.") % {
        "reason": reason
    }


def _pending(request: ApprovalRequest) -> str:
    message = _(
        "No one has decided this yet, so it was not run. It is waiting at %(url)s"
    ) % {"url": request.public_url}
    return " ".join(
        filter(None, [message, waiting_words(request), *warnings_of(request)])
    )
