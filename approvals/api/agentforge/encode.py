"""Encode requests and their outcomes as AgentForge's human-in-the-loop events: named messages with JSON data.

`human_timeout` and `human_error` are described only in AgentForge's guide; their data follows the style of the other events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from approvals.api.exchange import Asked, Ended, error_of, response_of
from approvals.db.cursors import Cursor
from approvals.json_types import JsonDict, JsonMapping
from approvals.live import sse

HEARTBEAT = b": heartbeat\n\n"
#: JavaScript timers hold 31 bits of milliseconds (24.8 days); longer ones fire at once.
LONGEST_TIMER = 2**31 - 1

_ID_PREFIX = re.compile(r"^[\w-]{1,80};", re.ASCII)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event: its name, AgentForge's id ("" without one) and its data."""

    event: str
    id: str
    data: JsonMapping


@dataclass(frozen=True, slots=True, order=True)
class StreamCursor(Cursor):
    """The cursor of the event stream: all events before audit entry `entry` were sent, and the first `shown` of its own."""

    SEPARATOR = "."

    entry: int
    shown: int = 0

    def __post_init__(self) -> None:
        if self.shown > 99:
            raise ValueError("no audit entry has so many events")

    @classmethod
    def of_event(cls, event_id: str) -> Self | None:
        """Return the cursor in an event's id (`response-6f...;1042.1`) or alone; None if there is none."""
        return cls.parse(_ID_PREFIX.sub("", event_id, count=1))


def frames(entry: int, events: Sequence[StreamEvent], *, skip: int = 0) -> list[bytes]:
    """Return the events of one audit entry as Server-Sent Events, without the first `skip`.

    Each id is AgentForge's id, a semicolon, and the cursor after the event. Only the cursor determines where to continue, because
    AgentForge gives a request and its interrupt the same id.
    """
    encoded = []
    for place, event in enumerate(events, 1):
        cursor = str(
            StreamCursor(entry + 1)
            if place == len(events)
            else StreamCursor(entry, place)
        )
        data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
        encoded.append(
            sse.frame(
                data,
                event=event.event,
                event_id=f"{event.id};{cursor}" if event.id else cursor,
            )
        )
    return encoded[skip:]


def opening(cursor: StreamCursor) -> bytes:
    """Return a frame with a cursor and no event: a client that reconnects before the first event continues here."""
    return f": connected\nid: {cursor}\n\n".encode()


def request_events(request: Asked, *, first: bool) -> list[StreamEvent]:
    """Return the events of a new request; `first`: the agent starts to wait now."""
    interrupt = _event(
        "interrupt", request, request.request_id, interrupt=_interrupt(request)
    )
    questions = (
        [
            _event(
                "human_request",
                request,
                request.request_id,
                request=human_request(request),
            )
        ]
        if _is_question(request)
        else []
    )
    waiting = (
        [_event("agent_waiting", request, "", reason=request.title)] if first else []
    )
    return [*questions, interrupt, *waiting]


def end_events(request: Asked, ended: Ended, *, last: bool) -> list[StreamEvent]:
    """Return the events of an ended request; `last`: the agent has nothing more to wait for."""
    events = []
    if ended.status == "expired":
        default = (
            {} if request.default is None else {"defaultResponse": request.default}
        )
        events.append(
            _event(
                "human_timeout",
                request,
                f"timeout-{request.request_id}",
                **_request_id(request),
                **default,
            )
        )
    if (error := error_of(request, ended)) is not None:
        events.append(
            _event(
                "human_error",
                request,
                f"error-{request.request_id}",
                **_request_id(request),
                error=error,
            )
        )
    else:
        if _is_question(request) and ended.status != "expired":
            response = response_of(ended)
            events.append(
                _event(
                    "human_response",
                    request,
                    f"response-{request.request_id}",
                    **_request_id(request),
                    response=response,
                )
            )
        value = _resume_value(request, ended)
        named = {"interruptId": request.request_id, "value": value}
        events.append(
            _event("resume", request, f"resume-{request.request_id}", **named)
        )
    resumed = (
        [_event("agent_resumed", request, "")] if last and not ended.stopped else []
    )
    return events + resumed


def human_request(request: Asked) -> JsonDict:
    """Return AgentForge's HumanRequest for the request as it was made."""
    context = (
        request.context
        if isinstance(request.context, dict)
        else {"context": request.context}
    )
    return {
        "id": request.request_id,
        "question": question_of(request),
        **({} if request.context is None else {"context": context}),
        "priority": request.priority,
        "createdAt": request.created_at,
        "timeout": _timer(request),
        **({} if request.default is None else {"defaultResponse": request.default}),
        **({"suggestions": list(request.suggestions)} if request.suggestions else {}),
        "status": "pending",
    }


def question_of(request: Asked) -> str:
    """Return title and message; only the message if it begins with the title."""
    if not request.message.strip():
        return request.title
    repeats = request.message.strip().startswith(request.title.removesuffix("…"))
    return request.message if repeats else f"{request.title}\n\n{request.message}"


def _event(event: str, request: Asked, event_id: str, /, **data: Any) -> StreamEvent:
    return StreamEvent(
        event, event_id, {"type": event, **data, "threadId": request.thread_id}
    )


def _request_id(request: Asked) -> dict[str, str]:
    return {"requestId": request.request_id}


def _timer(request: Asked) -> float:
    timer = min(request.timeout, LONGEST_TIMER)
    return int(timer) if timer == int(timer) else timer


def _is_question(request: Asked) -> bool:
    return request.kind == "question"


def _interrupt(request: Asked) -> JsonDict:
    data: JsonDict
    if _is_question(request):
        kind = "human_request"
        data = human_request(request)
    elif request.kind == "approval":
        kind = "approval_required"
        data = {
            "action": request.tool or request.title,
            "description": question_of(request),
        }
        data["context"] = {"input": dict(request.input)} | (
            {} if request.context is None else {"context": request.context}
        )
    else:
        kind = "custom"
        data = {
            "kind": request.kind,
            "title": request.title,
            "message": request.message,
        }
        data |= {"input": dict(request.input)} | (
            {} if request.schema is None else {"schema": dict(request.schema)}
        )
    timing = {"priority": request.priority, "timeout": _timer(request)}
    return {
        "type": kind,
        "id": request.request_id,
        "createdAt": request.created_at,
        "data": data,
        "metadata": timing,
    }


def _resume_value(request: Asked, ended: Ended) -> Any:
    comment = {"comment": ended.comment} if ended.comment else {}
    match request.kind:
        case "question":
            return response_of(ended)
        case "approval":
            edited = {"input": ended.value} if ended.has_value else {}
            return {"approved": ended.status == "approved", **edited, **comment}
        case "form":
            return (
                {"declined": True, **comment}
                if ended.status == "rejected"
                else ended.value
            )
        case _:
            return {
                "verdict": ended.verdict,
                **({"output": ended.value} if ended.has_value else {}),
                **comment,
            }
