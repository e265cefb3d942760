"""Ask, wait for the outcome, and cancel."""

from __future__ import annotations

import base64
import math
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypedDict

from .errors import Refused, StillWaiting, mapping, member
from .outcomes import Outcome, outcome_of
from .transport import GRACE, WAIT, Call, Flow, place, sendable, sure

#: Fields that only questions have.
QUESTION_FIELDS = frozenset(
    {"options", "multiple", "allow_text", "field_name", "suggestions"}
)


class Asked(TypedDict, total=False):
    """The fields of `POST /api/v1/requests` except the title; the page /api/v1/ describes each.

    `options` may be plain texts, `timeout` is a timedelta or milliseconds, `deadline` a datetime with a time zone. `attachments`
    are file paths, or `{"name", "content"}` with bytes. Without a `kind`, a request with a field that only questions have is a
    question, and any other an approval.
    """

    kind: Literal["approval", "question", "form"]
    message: str
    tool_name: str
    tool_call_id: str
    input: Mapping[str, Any]
    response_schema: Mapping[str, Any]
    options: Sequence[str | Mapping[str, Any]]
    multiple: bool
    allow_text: bool
    field_name: str
    suggestions: Sequence[str]
    context: Any
    messages: Sequence[Mapping[str, str]]
    priority: Literal["low", "normal", "high", "critical"]
    timeout: timedelta | int
    deadline: datetime
    default_response: Any
    workflow_id: str
    workflow_title: str
    step_path: Sequence[str]
    thread_id: str
    agent: str
    callback_url: str
    callback: Mapping[str, str]
    assigned_to: str
    resume_state: str
    attachments: Sequence[str | os.PathLike[str] | Mapping[str, Any]]


def ask(patience: float, title: str, key: str, fields: Asked) -> Flow[dict[str, Any]]:
    kind = "approval" if QUESTION_FIELDS.isdisjoint(fields) else "question"
    body = {"kind": kind, **fields, "title": title}
    if "options" in body:
        body["options"] = [
            {"label": option} if isinstance(option, str) else option
            for option in fields["options"]
        ]
    if "attachments" in body:
        body["attachments"] = [attachment(file) for file in fields["attachments"]]
    if isinstance(timeout := body.get("timeout"), timedelta):
        body["timeout"] = math.ceil(timeout / timedelta(milliseconds=1))
    if isinstance(deadline := body.get("deadline"), datetime):
        body["deadline"] = deadline.isoformat()
    if not body.get("tool_call_id"):
        body.pop("tool_call_id", None)
    # A request without a name gets one here, so that a lost response does not create a second request.
    name = sendable("idempotency_key", key) or (
        "" if fields.get("tool_call_id") else str(uuid.uuid4())
    )
    headers = {"Idempotency-Key": name} if name else {}
    request = yield from sure(Call("POST", "/requests", body, headers), patience)
    member(request, "id", str)
    member(request, "status", str)
    return request


def attachment(file: str | os.PathLike[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a file for sending: its content in base64."""
    if not isinstance(file, Mapping):
        path = Path(file)
        file = {"name": path.name, "content": path.read_bytes()}
    content = file["content"]
    return (
        file
        if isinstance(content, str)
        else {**file, "content": base64.b64encode(content).decode()}
    )


def wait(
    patience: float, request_id: str, give_up_after: float | None
) -> Flow[Outcome]:
    until = math.inf if give_up_after is None else time.monotonic() + give_up_after
    while True:
        seconds = max(0, math.ceil(min(WAIT, until - time.monotonic())))
        call = Call(
            "GET",
            place("requests", request_id, f"?wait={seconds}"),
            seconds=seconds + GRACE,
        )
        request = yield from sure(call, patience)
        if member(request, "status", str) != "pending":
            return outcome_of(request)
        if time.monotonic() >= until:
            raise StillWaiting(request_id, str(request.get("url") or request_id))


def await_human(
    patience: float, title: str, key: str, give_up_after: float | None, fields: Asked
) -> Flow[Outcome]:
    request = yield from ask(patience, title, key, fields)
    if request["status"] != "pending":
        return outcome_of(request)
    return (yield from wait(patience, request["id"], give_up_after))


def cancel(patience: float, request_id: str, comment: str) -> Flow[Outcome]:
    try:
        request = yield from sure(
            Call(
                "POST", place("requests", request_id, "/cancel"), {"comment": comment}
            ),
            patience,
        )
    except Refused as refused:
        # Already cancelled: by an earlier attempt whose response was lost, or by someone else.
        if mapping(refused.problem.get("decision")).get("verdict") != "cancel":
            raise
        request = yield from sure(Call("GET", place("requests", request_id)), patience)
    return outcome_of(request)
