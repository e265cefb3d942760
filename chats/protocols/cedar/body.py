"""What a Cedar-OS front end posts (npm cedar-os 0.1.x, provider `mastra`), checked for its shape and put in our words.

Everything in it is the client's word: `resourceId` says nothing of who it is, `threadId` is a name that the client chose,
and `prompt` in a resume is a draft that happened to stand in the input. Fields that are not named here are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from approvals.asking.asks import ABSENT
from approvals.exceptions import Invalid, NotFound
from approvals.runtime.canonical import NotCanonical, canonical
from approvals.runtime.translation import translated
from approvals.states import Kind, Verdict
from chats.protocols.ai_sdk.body import text_problem

#: What a page may send along with a message; the model is shown it whole.
MAX_CONTEXT_BYTES = 50_000
#: What a page lets its agent do by itself. Nothing here does, so nobody is told of it.
PLUMBING = frozenset({"stateSetters", "setters", "schemas", "frontendTools"})
#: Names for the words that go with a verdict.
WORDS = ("feedback", "comment", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message. `thread_id` and `agent` are "" where the client names none; `context` is None where it sent none."""

    prompt: str
    thread_id: str
    agent: str
    context: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Somebody's word on one request; `step_path` and `data` are as they were sent, or ABSENT."""

    run_id: UUID
    step_path: Any
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What a resume says in the desk's words."""

    verdict: Verdict
    comment: str = ""
    edited_input: Any = ABSENT
    answer: Any = ABSENT


def read_said(body: Mapping[str, Any]) -> Said:
    """Invalid names each field that does not fit."""
    errors = {}
    if not isinstance(body.get("prompt"), str):
        errors["prompt"] = _("is missing or is not text")
    for name in ("threadId", "agent"):
        if problem := name_problem(body.get(name)):
            errors[name] = problem
    context = body.get("additionalContext")
    if problem := _context_problem(context):
        errors["additionalContext"] = problem
    if errors:
        raise Invalid(_("The body is not a valid Cedar-OS request."), errors)
    told = {name: value for name, value in (context or {}).items() if name not in PLUMBING}
    return Said(
        prompt=body["prompt"],
        thread_id=body.get("threadId") or "",
        agent=body.get("agent") or "",
        context=told or None,
    )


def name_problem(value: object) -> str:
    """What is wrong with a name that may be left out or empty; "" if nothing is."""
    return "" if value in (None, "") else text_problem(value)


def _context_problem(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, dict):
        return _("is not an object")
    try:
        canonical({name: item for name, item in value.items() if name not in PLUMBING}, max_bytes=MAX_CONTEXT_BYTES)
    except NotCanonical as error:
        return translated(error)
    return ""


def read_resumed(body: Mapping[str, Any]) -> Resumed:
    """NotFound for a runId that never was one of ours; Invalid for what is none at all."""
    return Resumed(
        run_id=read_run_id(body), step_path=body.get("stepPath", ABSENT), data=body.get("resumeData", ABSENT)
    )


def read_run_id(body: Mapping[str, Any]) -> UUID:
    value = body.get("runId")
    if not isinstance(value, str) or not value:
        raise Invalid(_("The body names no run."), {"runId": _("is missing or is not text")})
    try:
        found = UUID(value)
    except ValueError as error:
        raise NotFound(_("Run not found. It may not exist, or you may not have access.")) from error
    if str(found) != value.lower():
        raise NotFound(_("Run not found. It may not exist, or you may not have access."))
    return found


def check_path(sent: Any, path: Sequence[str]) -> None:
    """Raise Invalid unless the path is the one that was sent out: joined by dots, as a list, or as a list of lists.

    A client may leave it out: the runId alone says which request is meant.
    """
    match sent:
        case str():
            same = sent == ".".join(path)
        case list() if sent and all(isinstance(item, list) for item in sent):
            same = [name for item in sent for name in item] == list(path)
        case list():
            same = sent == list(path)
        case _:
            same = sent is ABSENT
    if not same:
        raise Invalid(_("This is not the waiting step."), {"stepPath": _("does not match the step path of the run")})


def word_on(kind: Kind, schema: Mapping[str, Any] | None, data: Any) -> Word:
    """What `resumeData` says to a request of this kind; Invalid if it says nothing that this kind takes.

    Approvals take `{approved, feedback?, input?}`. A question or form takes any JSON that its schema allows, and
    `{approved: false, feedback?}` declines it. A recovery is not answered here.
    """
    if data is ABSENT:
        raise Invalid(_("The answer is missing."), {"resumeData": _("is missing")})
    if kind == Kind.APPROVAL:
        return _verdict(data)
    approves = isinstance(data, dict) and "approved" in data and "approved" not in (schema or {}).get("properties", {})
    if approves and data["approved"] is False:
        return _verdict(data)
    if approves:
        raise Invalid(
            _("This request is a question. Send an answer."), {"resumeData": _("approves but does not answer")}
        )
    if schema is None and data in (None, "", [], {}):
        raise Invalid(_("This request is a question. Send an answer."), {"resumeData": _("is empty")})
    return Word(verdict=Verdict.RESPOND, answer=data)


def _verdict(data: Any) -> Word:
    if not isinstance(data, dict) or not isinstance(data.get("approved"), bool):
        raise Invalid(
            _("This request must be approved or rejected."), {"resumeData.approved": _("must be true or false")}
        )
    approved, errors = data["approved"], {}
    # Whoever changes something in a way that is not known here must not see the unchanged thing happen.
    for name in data.keys() - {"approved", "input", *WORDS}:
        errors[f"resumeData.{name[:100]}"] = _("is unknown; send changes in `input` and a comment in `feedback`")
    words = [name for name in WORDS if data.get(name) not in (None, "")]
    errors |= {f"resumeData.{name}": _("is not text") for name in words if not isinstance(data[name], str)}
    if "input" in data and not approved:
        errors["resumeData.input"] = _("is not allowed with a rejection")
    if errors:
        raise Invalid(_("The answer is invalid."), errors)
    comment = "\n".join(data[name] for name in words)
    if not approved:
        return Word(verdict=Verdict.REJECT, comment=comment)
    if "input" in data:
        return Word(verdict=Verdict.EDIT, comment=comment, edited_input=data["input"])
    return Word(verdict=Verdict.APPROVE, comment=comment)


def in_the_clients_words(refusal: Invalid) -> Invalid:
    """The same refusal, whose fields are named as the client sent them."""
    places = {"edited_input": "resumeData.input", "answer": "resumeData", "comment": "resumeData.feedback"}
    errors = {}
    for name, words in refusal.errors.items():
        field, _, rest = name.partition(".")
        errors[".".join(filter(None, (places.get(field, f"resumeData.{field}"), rest)))] = words
    return Invalid(str(refusal), errors)
