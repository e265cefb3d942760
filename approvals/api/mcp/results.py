"""Results of tool calls: a text block with JSON plus the same as structured content, or an error for the model."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import ValidationError

from approvals.api.bodies import first_problem
from approvals.api.outcomes import ReadRequest, decision, report
from approvals.api.votes import waiting_words
from approvals.exceptions import Refusal
from approvals.json_types import JsonDict, JsonMapping
from approvals.queries.policy.deciders import warnings_of
from approvals.states import ASKS, Door, Kind, Status, Verdict

MAX_ERRORS = 20

#: The status for a call if another call has used the approval that both waited for.
TAKEN = "taken"

#: The output schema of `ask_human`, `request_approval` and `check_request`.
OUTCOME: JsonMapping = {
    "type": "object",
    "properties": {
        "request_id": {"type": "string"},
        "status": {"type": "string", "enum": [*Status.values, TAKEN]},
        "url": {"type": "string", "description": "The page where people answer."},
        "message": {"type": "string", "description": "What to do now."},
        "warnings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Why no one may be able to decide it. Tell the person you work for.",
        },
        "votes": {
            "type": "string",
            "description": "The votes so far, if several people have to decide.",
        },
        "by": {"type": "string", "description": "Who decided."},
        "comment": {"type": "string", "description": "That person's message."},
        "answer": {"description": "The answer to a question."},
        "grant": {
            "type": "object",
            "description": "The grant, given by `by`, that approved it without asking: its id and which use this was.",
        },
        "halted": {
            "type": "boolean",
            "description": "Whether you must stop: do nothing more, and say so.",
        },
        "rule": {
            "type": "object",
            "description": "The policy rule that decided it without asking.",
        },
        "input": {
            "type": "object",
            "description": "The approved input, which may differ from the requested one.",
        },
        "result": {
            "type": "object",
            "description": "The reported result of the approved action.",
        },
    },
    "required": ["request_id", "status", "url", "message"],
}
#: Instructions for the model, by status of the request.
_APPROVALS = {
    Status.PENDING: "No one has decided yet. Do not run it. Call check_request with this request_id.",
    Status.APPROVED: "Approved. Run it with exactly this input, then call report_result.",
    Status.REJECTED: "A person rejected this. Do not run it, and do not ask for the same again.",
    Status.CANCELLED: "The request was cancelled. Do not run it.",
    Status.EXPIRED: "No one decided before the deadline. Do not run it.",
}
_QUESTIONS = {
    Status.PENDING: "No one has answered yet. Call check_request with this request_id.",
    Status.ANSWERED: "Answered.",
    Status.REJECTED: "A person declined to answer.",
    Status.CANCELLED: "The question was cancelled. There will be no answer.",
    Status.EXPIRED: "No one answered before the deadline.",
}
_CHANGED = "Approved with changes. Run it with exactly this input, not with the one that you asked for."
_GRANTED = (
    "Approved by a grant that a person gave earlier. Run it with exactly this input, then call report_result. The next "
    "call may have to wait for a person."
)
_ALLOWED = "Allowed by a rule of the policy. Run it with exactly this input, then call report_result."
_DENIED = "A rule of the policy denies this. Do not run it, and do not ask for the same again."
_REPEATED = "A person rejected the same call before. Do not run it, and do not ask for the same again."
_HALTED = (
    "No one decided before the deadline, and the policy stops the run now. Do not run it, do nothing else, and tell the "
    "person you work for."
)
_HAS_RUN = "This has run already, and its result was reported. Do not run it again."
_DEFAULT = "No one answered before the deadline, so this is the default answer."


def outcome(read: ReadRequest) -> JsonDict:
    """Return a request in the form for models."""
    request = read.row
    status = Status(request.status)
    message = (_QUESTIONS if request.kind in ASKS else _APPROVALS).get(status, "")
    document: JsonDict = {
        "request_id": str(request.pk),
        "status": status.value,
        "url": request.public_url,
    }
    if status == Status.PENDING:
        votes = waiting_words(request)
        document |= {"message": message} | ({"votes": votes} if votes else {})
        return document | (
            {"warnings": warnings} if (warnings := warnings_of(request)) else {}
        )
    made = decision(read, request.decision)
    answered = made.verdict == Verdict.RESPOND or (
        status == Status.EXPIRED and request.has_default
    )
    reported = report(read)
    if made.halted:
        message = _HALTED
    elif reported is not None and made.approved_input is not None:
        message = _HAS_RUN
    elif made.verdict == Verdict.EDIT:
        message = _CHANGED
    elif made.grant is not None:
        message = _GRANTED
    elif made.rule is not None:
        message = _ALLOWED if made.verdict == Verdict.APPROVE else _DENIED
    elif made.repeats is not None:
        message = _REPEATED
    elif answered and status == Status.EXPIRED:
        message = _DEFAULT
    more: JsonDict = {
        "by": made.by,
        "comment": made.comment or None,
        "input": made.approved_input,
    }
    more["grant"] = (
        None
        if made.grant is None
        else made.grant.model_dump(mode="json", exclude_none=True)
    )
    more["halted"] = made.halted or None
    more["rule"] = None if made.rule is None else made.rule.model_dump()
    more["result"] = (
        None
        if reported is None
        else reported.model_dump(mode="json", exclude_none=True)
    )
    document |= {name: value for name, value in more.items() if value is not None}
    return (
        document | ({"answer": made.answer} if answered else {}) | {"message": message}
    )


def taken(read: ReadRequest) -> JsonDict:
    """Return a request for a call that waited for an approval that another call used."""
    request = read.row
    message = (
        f"A person approved one call, and another call has already used that approval: {request.taken}. So do not run "
        "it. To run it again, call request_approval again."
    )
    document: JsonDict = {
        "request_id": str(request.pk),
        "status": TAKEN,
        "url": request.public_url,
    }
    if (reported := report(read)) is not None:
        return document | {
            "message": _HAS_RUN,
            "result": reported.model_dump(mode="json", exclude_none=True),
        }
    return document | {"message": message}


def foreign(read: ReadRequest) -> JsonDict:
    """Return a request for a client that did not make it."""
    shown = outcome(read)
    if read.row.status == Status.APPROVED:
        shown["message"] = (
            "A person approved this for the program that requested it, not for you. Do not run it."
        )
    return shown


def permission(read: ReadRequest) -> JsonDict:
    """Return a request in the form of Claude Code's permission prompt. Everything but an approval is a denial."""
    request = read.row
    if request.kind == Kind.APPROVAL and request.status == Status.APPROVED:
        return allowed(decision(read, request.decision).approved_input)
    waiting = f"No one has decided yet, so this was not run. The request is waiting at {request.public_url}."
    message = {
        Status.PENDING: " ".join(
            filter(None, [waiting, waiting_words(request), *warnings_of(request)])
        ),
        Status.EXPIRED: "No one decided before the deadline, so this was not run.",
    }.get(Status(request.status))
    if message is None:
        cancelled = request.status == Status.CANCELLED
        by_rule = request.decision.via == Door.RULE
        rejected = "The policy denies this" if by_rule else "A person rejected this"
        message = "The request was cancelled" if cancelled else rejected
        comment = read.decided(request.decision)["comment"].strip()
        message = (
            f"{message}: {comment}" if comment else f"{message}. Do not repeat it."
        )
    return denial(_HALTED) | {"interrupt": True} if request.halted else denial(message)


def allowed(approved_input: JsonMapping | None) -> JsonDict:
    return {"behavior": "allow", "updatedInput": approved_input}


def denial(message: str) -> JsonDict:
    return {"behavior": "deny", "message": message}


def tool_result(value: JsonMapping, *, structured: bool = True) -> JsonDict:
    """Return the result of a call."""
    text = json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}]} | (
        {"structuredContent": value} if structured else {}
    )


def tool_error(text: str) -> JsonDict:
    """Return the result of a refused call, in words for the model."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def words_of(error: Refusal | ValidationError) -> str:
    """Return why a call was refused, with an error per argument."""
    if isinstance(error, ValidationError):
        errors = {
            ".".join(map(str, problem["loc"])): problem["msg"].removeprefix(
                "Value error, "
            )
            for problem in error.errors()
        }
        return "\n".join(["The arguments are invalid.", *_lines(errors)])
    errors = error.members().get("errors", {})
    return "\n".join([str(error), *_lines(errors)])


def words_of_values(arguments: JsonMapping, problem: Refusal) -> str:
    """Return why a call cannot be stored, naming the first such argument; else the `problem`."""
    path, reason = first_problem(arguments)
    return (
        "\n".join(["The arguments are invalid.", *_lines({path: reason})])
        if path
        else str(problem)
    )


def _lines(errors: Mapping[str, str]) -> list[str]:
    return [
        f"{name[:100]}: {message[:300]}"
        for name, message in list(errors.items())[:MAX_ERRORS]
    ]
