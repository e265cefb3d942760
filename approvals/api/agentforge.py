"""AgentForge's human-in-the-loop events: what was asked and how it ended, as named messages with JSON data.

`human_timeout` and `human_error` are in AgentForge's guide only; their data is in the style of the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from approvals.live import sse

HEARTBEAT = b": heartbeat\n\n"
#: JavaScript's timers hold 31 bits of milliseconds (24.8 days); a longer one goes off at once.
LONGEST_TIMER = 2**31 - 1

NOBODY = "Nobody answered before the deadline."
WITHDRAWN = "The request was withdrawn."
DECLINED = "The person declined to answer."

_CURSOR = re.compile(r"(?:[\w-]{1,80};)?(\d{1,18})\.(\d{1,2})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it was asked. Times in ms since 1970, `timeout` in ms (0 is none); `default` None is none."""

    request_id: str
    thread_id: str
    kind: str
    title: str
    created_at: int
    message: str = ""
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    context: Any = None
    priority: str = "normal"
    timeout: float = 0
    default: str | None = None
    suggestions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a request ended: `status` is the desk's own word. `value` is the answer or an edited input, `words` its text;
    `given` tells a null that was given from none. `stopped`: the agent was stopped with it.
    """

    status: str
    verdict: str = ""
    given: bool = False
    value: Any = None
    words: str = ""
    comment: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """One event: its name, AgentForge's id ("" where it has none) and its data."""

    event: str
    id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place in the stream: all before audit entry `entry` was told, and of its own events the first `shown`."""

    entry: int
    shown: int = 0

    def __str__(self) -> str:
        return f"{self.entry}.{self.shown}"


def cursor_from(text: str) -> Cursor | None:
    """The cursor at the end of an event's id (`response-6f...;1042.1`), or alone; None for what is none."""
    found = _CURSOR.fullmatch(text)
    return Cursor(int(found[1]), int(found[2])) if found else None


def frames(entry: int, told: Sequence[Told], *, skip: int = 0) -> list[bytes]:
    """The events of one audit entry as Server-Sent Events, without the first `skip`.

    An id is AgentForge's own, a semicolon, and the cursor behind the event; only a cursor says where to go on, since
    AgentForge gives a request and its interrupt the same id.
    """
    found = []
    for place, one in enumerate(told, 1):
        cursor = str(Cursor(entry + 1) if place == len(told) else Cursor(entry, place))
        data = json.dumps(one.data, ensure_ascii=False, separators=(",", ":"))
        found.append(sse.frame(data, event=one.event, id=f"{one.id};{cursor}" if one.id else cursor))
    return found[skip:]


def opening(cursor: Cursor) -> bytes:
    """No event, but a place: a client that breaks off before the first event goes on here."""
    return f": connected\nid: {cursor}\n\n".encode()


def request_events(asked: Asked, *, first: bool) -> list[Told]:
    """What is told when something is asked; `first`: the agent waits from now on."""
    interrupt = _told("interrupt", asked, asked.request_id, interrupt=_interrupt(asked))
    found = (
        [_told("human_request", asked, asked.request_id, request=human_request(asked))] if _is_question(asked) else []
    )
    waiting = [_told("agent_waiting", asked, "", reason=asked.title)] if first else []
    return [*found, interrupt, *waiting]


def end_events(asked: Asked, ended: Ended, *, last: bool) -> list[Told]:
    """What is told when a request has ended; `last`: the agent waits for nothing more."""
    found = []
    if ended.status == "expired":
        default = {} if asked.default is None else {"defaultResponse": asked.default}
        found.append(_told("human_timeout", asked, f"timeout-{asked.request_id}", **_named(asked), **default))
    if (error := error_of(asked, ended)) is not None:
        found.append(_told("human_error", asked, f"error-{asked.request_id}", **_named(asked), error=error))
    else:
        if _is_question(asked) and ended.status != "expired":
            response = response_of(ended)
            found.append(
                _told("human_response", asked, f"response-{asked.request_id}", **_named(asked), response=response)
            )
        value = _resume_value(asked, ended)
        named = {"interruptId": asked.request_id, "value": value}
        found.append(_told("resume", asked, f"resume-{asked.request_id}", **named))
    resumed = [_told("agent_resumed", asked, "")] if last and not ended.stopped else []
    return found + resumed


def human_request(asked: Asked) -> dict[str, Any]:
    """AgentForge's HumanRequest, as it was when it was asked."""
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
    """The whole question: a message that only repeats a shortened title stands alone."""
    if not asked.message.strip():
        return asked.title
    repeats = asked.message.strip().startswith(asked.title.removesuffix("…"))
    return asked.message if repeats else f"{asked.title}\n\n{asked.message}"


def response_of(ended: Ended) -> str:
    """The text that the agent gets for a question that a person, or its default, has answered."""
    if ended.status == "rejected":
        return f"{DECLINED} Their words: {ended.comment}" if ended.comment else DECLINED
    return ended.words


def error_of(asked: Asked, ended: Ended) -> str | None:
    """Why the agent gets no answer; None if it gets one. An approval that nobody gave is a no, which is an answer."""
    if ended.status == "cancelled":
        return f"{WITHDRAWN} {ended.comment}" if ended.comment else WITHDRAWN
    if ended.status == "expired" and not ended.given and asked.kind != "approval":
        return NOBODY
    return None


def _told(event: str, asked: Asked, id: str, **data: Any) -> Told:
    return Told(event, id, {"type": event, **data, "threadId": asked.thread_id})


def _named(asked: Asked) -> dict[str, str]:
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
