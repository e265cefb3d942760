"""The bodies posted by a Cedar-OS front end (npm cedar-os 0.1.x, provider `mastra`), with their shape checked.

They are untrusted: `resourceId` does not identify the caller, `threadId` is a client-chosen name, and `prompt` in a resume is any
draft in the input box. Fields not named here are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, Field, PlainValidator

from approvals.api.bodies import Body, Text
from approvals.asking.answers import ABSENT, Answer
from approvals.db.canonical_json import canonical
from approvals.exceptions import Invalid, NotFound
from approvals.json_types import JsonDict, JsonMapping
from approvals.states import Kind, Verdict
from chats.protocols.bodies import Name

#: Maximum size of a page's context with a message. All of it is sent to the model.
MAX_CONTEXT_BYTES = 50_000
#: Context fields about page features for agents. Agents here cannot use them, so these are dropped.
CLIENT_ONLY = frozenset({"stateSetters", "setters", "schemas", "frontendTools"})
#: Field names for the comment on a decision.
COMMENTS = ("feedback", "comment", "reason")


def _shown(context: JsonDict | None) -> JsonDict | None:
    shown = {
        name: item for name, item in (context or {}).items() if name not in CLIENT_ONLY
    }
    canonical(shown, max_bytes=MAX_CONTEXT_BYTES)
    return shown or None


class Prompt(Body):
    """A message. `thread_id` and `agent` are "" and `context` is None if the client sent none."""

    refusal = gettext_lazy("The body is not a valid Cedar-OS request.")
    member_errors: ClassVar = {
        "prompt": gettext_lazy("is missing or is not text"),
        "dict_type": gettext_lazy("is not an object"),
    }

    prompt: Text
    thread_id: Name = ""
    agent: Name = ""
    context: Annotated[dict[Any, Any] | None, AfterValidator(_shown)] = Field(
        None, alias="additionalContext"
    )


class Listing(Body):
    refusal = gettext_lazy("The thread is invalid.")

    thread_id: Name


def _run_id(value: object) -> UUID:
    if not isinstance(value, str) or not value:
        raise ValueError
    try:
        run_id: UUID | None = UUID(value)
    except ValueError:
        run_id = None
    # Python accepts other spellings too.
    if run_id is None or str(run_id) != value.lower():
        raise NotFound(
            _("Run not found. It may not exist, or you may not have access.")
        )
    return run_id


class Cancellation(Body):
    """Names a run. Raises NotFound for a runId that is no request id."""

    refusal = gettext_lazy("The body names no run.")
    member_errors: ClassVar = {"runId": gettext_lazy("is missing or is not text")}

    run_id: Annotated[UUID, PlainValidator(_run_id)]


class Resume(Cancellation):
    """An answer to one request. `step_path` and `data` are unchanged, or ABSENT."""

    step_path: Any = ABSENT
    data: Any = Field(ABSENT, alias="resumeData")


def check_path(sent: Any, path: Sequence[str]) -> None:
    """Raise Invalid unless `sent` is ABSENT or equals `path`: joined by dots, as a list, or as a list of lists."""
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
        raise Invalid(
            _("This is not the waiting step."),
            {"stepPath": _("does not match the step path of the run")},
        )


def answer_from(kind: Kind, schema: JsonMapping | None, data: Any) -> Answer:
    """Return the answer in `resumeData` to a request of this kind. Raise Invalid if it does not fit the kind.

    Approvals take `{approved, feedback?, input?}`. Questions and forms take any JSON that their schema allows, or
    `{approved: false, feedback?}` to decline. Recoveries cannot be answered here.
    """
    if data is ABSENT:
        raise Invalid(_("The answer is missing."), {"resumeData": _("is missing")})
    if kind == Kind.APPROVAL:
        return _approval(data)
    approves = (
        isinstance(data, dict)
        and "approved" in data
        and "approved" not in (schema or {}).get("properties", {})
    )
    if approves and data["approved"] is False:
        return _approval(data)
    if approves:
        raise Invalid(
            _("This request is a question. Send an answer."),
            {"resumeData": _("approves but does not answer")},
        )
    if schema is None and data in (None, "", [], {}):
        raise Invalid(
            _("This request is a question. Send an answer."),
            {"resumeData": _("is empty")},
        )
    return Answer(Verdict.RESPOND, answer=data)


def _approval(data: Any) -> Answer:
    if not isinstance(data, dict) or not isinstance(data.get("approved"), bool):
        raise Invalid(
            _("This request must be approved or rejected."),
            {"resumeData.approved": _("must be true or false")},
        )
    approved = data["approved"]
    errors = {}
    # An unknown field may be meant as a change, so the unchanged call must not run.
    for name in data.keys() - {"approved", "input", *COMMENTS}:
        errors[f"resumeData.{name[:100]}"] = _(
            "is unknown; send changes in `input` and a comment in `feedback`"
        )
    comments = [name for name in COMMENTS if data.get(name) not in (None, "")]
    errors |= {
        f"resumeData.{name}": _("is not text")
        for name in comments
        if not isinstance(data[name], str)
    }
    if "input" in data and not approved:
        errors["resumeData.input"] = _("is not allowed with a rejection")
    if errors:
        raise Invalid(_("The answer is invalid."), errors)
    comment = "\n".join(data[name] for name in comments)
    if not approved:
        return Answer(Verdict.REJECT, comment=comment)
    if "input" in data:
        return Answer(Verdict.EDIT, comment=comment, edited_input=data["input"])
    return Answer(Verdict.APPROVE, comment=comment)


def with_client_fields(refusal: Invalid) -> Invalid:
    """Return the same refusal with the fields named as in the client's body."""
    places = {
        "edited_input": "resumeData.input",
        "answer": "resumeData",
        "comment": "resumeData.feedback",
    }
    errors = {}
    for name, problem in refusal.errors.items():
        field, _, rest = name.partition(".")
        errors[
            ".".join(filter(None, (places.get(field, f"resumeData.{field}"), rest)))
        ] = problem
    return Invalid(str(refusal), errors)
