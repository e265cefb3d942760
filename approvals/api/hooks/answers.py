"""The answers of hooks in the shapes of the agents. An answer that cannot be expressed blocks the call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from approvals.api.hooks.agents import Event
from approvals.api.hooks.asks import QUESTION, questions_of
from approvals.api.hooks.bodies import HookCall
from approvals.asking.answers import answer_text
from approvals.db.canonical_json import same_json
from approvals.models import ApprovalRequest, Decision
from approvals.states import Kind, Verdict

#: Longer inputs are not repeated to a model that has to send them itself.
MAX_REPEATED = 4_000

Answer = dict[str, Any]


def answer_of(call: HookCall, asked: ApprovalRequest) -> Answer:
    """Return the answer to a call whose request has ended, or that no one has decided in time."""
    decision = None if asked.pending else asked.decision
    if call.event == Event.ELICITATION:
        return _elicited(asked, decision)
    if decision is None:
        return denied(call, _pending(asked))
    if decision.verdict == Verdict.RESPOND:
        return _allowed(call, decision, {**call.input, "answers": _answers(call, asked, decision)}, changed=True)
    if decision.verdict == Verdict.APPROVE:
        return _allowed(call, decision, call.input, changed=False)
    if decision.verdict == Verdict.EDIT:
        return _allowed(call, decision, decision.edited_input, changed=True)
    return denied(call, _refusal(asked, decision))


def deferred(call: HookCall, asked: ApprovalRequest) -> Answer:
    """Return the answer that ends the agent's process; resumed, it asks about the same call again."""
    said = {"permissionDecision": "defer", "permissionDecisionReason": _pending(asked)}
    return {"hookSpecificOutput": {"hookEventName": call.event, **said}}


def denied(call: HookCall, words: str) -> Answer:
    """Return the answer that blocks a tool call."""
    if call.event == Event.PRE_TOOL_USE:
        said: Answer = {"permissionDecision": "deny", "permissionDecisionReason": words}
    else:
        said = {"decision": {"behavior": "deny", "message": words}}
    return {"hookSpecificOutput": {"hookEventName": call.event, **said}}


def taken(call: HookCall, asked: ApprovalRequest) -> Answer:
    """Return the answer to a call that waited for an approval which another call has taken."""
    if call.event == Event.ELICITATION:
        return _elicited(asked, None)
    words = _("A person approved one call like this, and another call has already used that approval: %(call)s.")
    more = _("So this call was not run. If it has to run once more, call the tool again, and a person is asked.")
    return denied(call, f"{words % {'call': asked.taken}} {more}")


def told_afterwards(call: HookCall, asked: ApprovalRequest) -> Answer:
    """Return what the model reads beside the result of an approved call; nothing if it ran as the model sent it.

    Not in the answer before the call: what agents can take there differs, and a field too many lets the call run.
    """
    decision, said = asked.decision, []
    if decision.verdict == Verdict.EDIT:
        said.append(_changed(asked.input, decision.edited_input or {}))
    if comment := decision.comment.strip():
        said.append(_("The person who approved this call says: %(comment)s") % {"comment": comment})
    if not said:
        return {}
    return {"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": "\n\n".join(said)}}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    names = sorted(
        name for name in {*before, *after} if name not in after or not same_json(before.get(name), after[name])
    )
    words = _(
        "A person approved this call with changes, so it ran with a different input than you sent. Changed: %(names)s."
    )
    text = json.dumps(after, ensure_ascii=False)
    more = _("It ran with this input: %(input)s") if len(text) <= MAX_REPEATED else ""
    return " ".join([words % {"names": ", ".join(names)[:MAX_REPEATED]}, *([more % {"input": text}] if more else [])])


def _allowed(call: HookCall, decision: Decision, approved: Mapping[str, Any] | None, *, changed: bool) -> Answer:
    given = dict(approved or {})
    if call.event == Event.PRE_TOOL_USE:
        sent = {"updatedInput": given} if changed or call.agent.sends_input_back else {}
        words = _("Approved by %(name)s.") % {"name": decision.by_name or "Pausepoint"}
        said: Answer = {"permissionDecision": "allow", "permissionDecisionReason": words, **sent}
    elif changed and not call.agent.edits_permissions:
        # Approving it as it was proposed would run what no one has approved.
        return denied(call, _change(call, given))
    else:
        said = {"decision": {"behavior": "allow", **({"updatedInput": given} if changed else {})}}
    return {"hookSpecificOutput": {"hookEventName": call.event, **said}}


def _elicited(asked: ApprovalRequest, decision: Decision | None) -> Answer:
    said: Answer = {"action": "cancel"}
    if decision is not None and decision.verdict == Verdict.RESPOND:
        said = {"action": "accept", "content": decision.answer}
    elif decision is not None and asked.kind == Kind.APPROVAL and decision.verdict == Verdict.APPROVE:
        said = {"action": "accept"}
    elif decision is not None and decision.verdict in {Verdict.REJECT, Verdict.EDIT}:
        # A changed address is not the one that the server wants to be opened.
        said = {"action": "decline"}
    return {"hookSpecificOutput": {"hookEventName": Event.ELICITATION, **said}}


def _answers(call: HookCall, asked: ApprovalRequest, decision: Decision) -> dict[str, str]:
    """Return the answers by the text of their question, as Claude Code's own form gives them."""
    questions = questions_of(call)
    if asked.kind == Kind.QUESTION:
        return {questions[0]["question"]: answer_text(decision.answer)}
    given = decision.answer if isinstance(decision.answer, dict) else {}
    found = {one["question"]: given.get(f"{QUESTION}{number}", "") for number, one in enumerate(questions, 1)}
    return {text: ", ".join(answer) if isinstance(answer, list) else str(answer) for text, answer in found.items()}


def _change(call: HookCall, given: Mapping[str, Any]) -> str:
    text = json.dumps(given, ensure_ascii=False)
    words = _("A person approved this call only with changes, which %(agent)s cannot make itself.")
    more = _("Call the tool with this input: %(input)s") if len(text) <= MAX_REPEATED else ""
    return " ".join([words % {"agent": call.agent.name}, *([more % {"input": text}] if more else [])])


def _refusal(asked: ApprovalRequest, decision: Decision) -> str:
    comment = decision.comment.strip()
    said = f": {comment}" if comment else ""
    said += "" if comment.endswith((".", "!", "?")) else "."
    if decision.verdict == Verdict.EXPIRE:
        return _("No one decided in time, so this call was not run.")
    if decision.verdict == Verdict.CANCEL:
        return _("This call was cancelled%(said)s Do not repeat it.") % {"said": said}
    if asked.kind in {Kind.QUESTION, Kind.FORM}:
        return _("A person declined to answer%(said)s") % {"said": said}
    return _("A person declined this call%(said)s Do not repeat it.") % {"said": said}


def _pending(asked: ApprovalRequest) -> str:
    return _("No one has decided this yet, so it was not run. It is waiting at %(url)s") % {"url": asked.public_url}
