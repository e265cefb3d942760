"""Encode requests and their outcomes as AgentForge's human-in-the-loop events: named messages with JSON data.

`human_timeout` and `human_error` appear only in AgentForge's guide; their data follows the style of the other events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from approvals.api.exchange import Asked, Ended, error_of, response_of
from approvals.db.cursors import Cursor
from approvals.live import sse

HEARTBEAT = b": heartbeat\n\n"
#: JavaScript timers hold 31 bits of milliseconds (24.8 days); longer ones fire at once.
LONGEST_TIMER = 2**31 - 1

_ID_PREFIX = re.compile(r"^[\w-]{1,80};", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, AgentForge's id ("" without one) and its data."""

    event: str
    id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class StreamCursor(Cursor):
    """The cursor of the event stream: all before audit entry `entry` were sent, and of its events the first `shown`."""

    SEPARATOR = "."

    entry: int
    shown: int = 0

    def __post_init__(self) -> None:
        if self.shown > 99:
            raise ValueError("no audit entry has so many events")

    @classmethod
    def of_event(cls, event_id: str) -> Self | None:
        """Return the cursor at the end of an event's id (`response-6f...;1042.1`) or alone; None if there is none."""
        return cls.parse(_ID_PREFIX.sub("", event_id, count=1))


def frames(entry: int, events: Sequence[Event], *, skip: int = 0) -> list[bytes]:
    """Return the events of one audit entry as Server-Sent Events, without the first `skip`.

    Each id is AgentForge's id, a semicolon, and the cursor after the event. Only the cursor says where to continue, because
    AgentForge gives a request and its interrupt the same id.
    """
    found = []
    for place, one in enumerate(events, 1):
        cursor = str(StreamCursor(entry + 1) if place == len(events) else StreamCursor(entry, place))
        data = json.dumps(one.data, ensure_ascii=False, separators=(",", ":"))
        found.append(sse.frame(data, event=one.event, event_id=f"{one.id};{cursor}" if one.id else cursor))
    return found[skip:]


def opening(cursor: StreamCursor) -> bytes:
    """Return a frame with a cursor and no event: a client that reconnects before the first event continues here."""
    return f": connected\nid: {cursor}\n\n".encode()


def request_events(asked: Asked, *, first: bool) -> list[Event]:
    """Return the events of a new request; `first`: the agent waits from now on."""
    interrupt = _event("interrupt", asked, asked.request_id, interrupt=_interrupt(asked))
    found = (
        [_event("human_request", asked, asked.request_id, request=human_request(asked))] if _is_question(asked) else []
    )
    waiting = [_event("agent_waiting", asked, "", reason=asked.title)] if first else []
    return [*found, interrupt, *waiting]


def end_events(asked: Asked, ended: Ended, *, last: bool) -> list[Event]:
    """Return the events of a request that has ended; `last`: the agent waits for nothing more."""
    found = []
    if ended.status == "expired":
        default = {} if asked.default is None else {"defaultResponse": asked.default}
        found.append(_event("human_timeout", asked, f"timeout-{asked.request_id}", **_request_id(asked), **default))
    if (error := error_of(asked, ended)) is not None:
        found.append(_event("human_error", asked, f"error-{asked.request_id}", **_request_id(asked), error=error))
    else:
        if _is_question(asked) and ended.status != "expired":
            response = response_of(ended)
            found.append(
                _event("human_response", asked, f"response-{asked.request_id}", **_request_id(asked), response=response)
            )
        value = _resume_value(asked, ended)
        named = {"interruptId": asked.request_id, "value": value}
        found.append(_event("resume", asked, f"resume-{asked.request_id}", **named))
    resumed = [_event("agent_resumed", asked, "")] if last and not ended.stopped else []
    return found + resumed


def human_request(asked: Asked) -> dict[str, Any]:
    """Return AgentForge's HumanRequest, as it was when it was asked."""
    context = asked.context if isinstance(asked.context, dict) else {"context": asked.context}
    return {
        "id": asked.request_id,
        "question": question_of(asked),
        **({} if asked.context is None else {"context": context}),
        "priority": asked.priority,
        "createdAt": asked.created_at,
        "timeout": _timer(asked),
        **({} if asked.default is None else {"defaultResponse": asked.default}),
        **({"suggestions": list(asked.suggestions)} if asked.suggestions else {}),
        "status": "pending",
    }


def question_of(asked: Asked) -> str:
    """Return title and message; the message alone where it begins with the title."""
    if not asked.message.strip():
        return asked.title
    repeats = asked.message.strip().startswith(asked.title.removesuffix("…"))
    return asked.message if repeats else f"{asked.title}\n\n{asked.message}"


def _event(event: str, asked: Asked, event_id: str, **data: Any) -> Event:
    return Event(event, event_id, {"type": event, **data, "threadId": asked.thread_id})


def _request_id(asked: Asked) -> dict[str, str]:
    return {"requestId": asked.request_id}


def _timer(asked: Asked) -> float:
    timer = min(asked.timeout, LONGEST_TIMER)
    return int(timer) if timer == int(timer) else timer


def _is_question(asked: Asked) -> bool:
    return asked.kind == "question"


def _interrupt(asked: Asked) -> dict[str, Any]:
    kind, data = "custom", _custom(asked)
    if _is_question(asked):
        kind, data = "human_request", human_request(asked)
    elif asked.kind == "approval":
        kind, data = "approval_required", _approval(asked)
    timing = {"priority": asked.priority, "timeout": _timer(asked)}
    return {"type": kind, "id": asked.request_id, "createdAt": asked.created_at, "data": data, "metadata": timing}


def _approval(asked: Asked) -> dict[str, Any]:
    context = {"input": dict(asked.input)} | ({} if asked.context is None else {"context": asked.context})
    return {"action": asked.tool or asked.title, "description": question_of(asked), "context": context}


def _custom(asked: Asked) -> dict[str, Any]:
    shown = {"kind": asked.kind, "title": asked.title, "message": asked.message, "input": dict(asked.input)}
    return shown | ({} if asked.schema is None else {"schema": dict(asked.schema)})


def _resume_value(asked: Asked, ended: Ended) -> Any:
    comment = {"comment": ended.comment} if ended.comment else {}
    match asked.kind:
        case "question":
            return response_of(ended)
        case "approval":
            edited = {"input": ended.value} if ended.given else {}
            return {"approved": ended.status == "approved", **edited, **comment}
        case "form":
            return {"declined": True, **comment} if ended.status == "rejected" else ended.value
        case _:
            return {"verdict": ended.verdict, **({"output": ended.value} if ended.given else {}), **comment}
