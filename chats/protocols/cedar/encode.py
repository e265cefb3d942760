"""What a Cedar-OS front end reads (npm cedar-os 0.1.x): text as `{"content"}`, suspensions as `humanInTheLoop` objects.

Observed with the published package. Its parser splits events at LF LF only, shows data that is no JSON object as text,
and shows an object twice that has both `type` and `content`; an object of a type that it does not know is printed raw. So
nothing is sent but text, `humanInTheLoop` and `progress_update`; above all nothing that a model has made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.live import sse
from chats.agent import events

Payload = dict[str, Any]

CONTENT_TYPE = f"{sse.CONTENT_TYPE}; charset=utf-8"
HEADERS = sse.HEADERS
#: Cedar stays busy until the connection closes; this only says that nothing more will come.
DONE = b"event: done\ndata:\n\n"
#: The longest time that a browser's timer knows; a longer one would ring at once.
MAX_TIMEOUT_MS = 2**31 - 1
BREAK = "\n\n"
STOPPED = "This was stopped."
BEGUN_AGAIN = "The answer was begun again on the server. It follows anew."


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """One open request, and what goes with it. `said` is what the assistant said as it asked; `url` is the desk's page."""

    run_id: str
    step_path: Sequence[str]
    kind: str
    title: str
    message: str
    tool_name: str
    input: Mapping[str, Any]
    response_schema: Any
    said: str
    priority: str
    url: str
    thread_id: str
    workflow_id: str
    asked_at: datetime
    deadline_at: datetime | None
    approves: bool


def suspended(found: Suspension, *, now: datetime) -> Payload:
    """The object that makes Cedar wait. `timeoutMs` is there only where there is a deadline.

    The fields of the input stand in `suspendPayload` beside our own, which win: whole and as it is, it is under `input`.
    """
    asked: Payload = {
        "type": "humanInTheLoop",
        "status": "suspended",
        "runId": found.run_id,
        "stepPath": [list(found.step_path)],
        "suspendPayload": {**found.input, **_payload(found)},
        "message": BREAK.join(filter(None, (found.title, found.message))),
    }
    if found.deadline_at is not None:
        left = int((found.deadline_at - now).total_seconds() * 1000)
        asked["timeoutMs"] = min(max(left, 1), MAX_TIMEOUT_MS)
    return asked | {"metadata": _metadata(found)}


def _payload(found: Suspension) -> Payload:
    return {
        "pendingResponse": found.said or found.title,
        "requiresApproval": found.approves,
        "toolName": found.tool_name,
        "input": dict(found.input),
        "responseSchema": found.response_schema,
    }


def _metadata(found: Suspension) -> Payload:
    return {
        "kind": found.kind,
        "title": found.title,
        "threadId": found.thread_id,
        "workflowId": found.workflow_id,
        "priority": found.priority,
        "url": found.url,
        "suspendedAt": found.asked_at.isoformat(),
        "deadline": found.deadline_at.isoformat() if found.deadline_at else None,
    }


def noted(text: str) -> Payload:
    """A line in the chat that says what became of something."""
    return {"type": "progress_update", "state": "complete", "text": text}


def refused(text: str, errors: Mapping[str, str] | None = None) -> Payload:
    """A line in the chat that says what went wrong: Cedar shows nobody the body of an error."""
    named = " ".join(f"({name}: {words})" for name, words in (errors or {}).items())
    return {"type": "progress_update", "state": "error", "text": " ".join(filter(None, (text, named)))}


def frame(payload: Payload) -> bytes:
    return sse.frame(json.dumps(payload, ensure_ascii=False, separators=(",", ":")))


def answer(payloads: Iterable[Payload]) -> Payload:
    """The same as one JSON document: `{text, object?}`; `object` is a list where there are several."""
    text, objects = "", []
    for payload in payloads:
        if "content" in payload:
            text += payload["content"]
        else:
            objects.append(payload)
    found: Payload = {"text": text}
    if objects:
        found["object"] = objects[0] if len(objects) == 1 else objects
    return found


class AnswerStream:
    """Encodes a turn's events: its texts, one paragraph each, and how it ended where that was not by itself.

    `closed` says that the turn has ended and how was told.
    """

    def __init__(self) -> None:
        self.closed = False
        self._said = False
        self._breaks = False
        self._last_step = -1

    def encode(self, event: events.Event) -> list[Payload]:
        match event:
            case events.StepStarted(index):
                return self._start_step(index)
            case events.TextStarted():
                self._breaks = self._said
                return []
            case events.TextDelta(_, text) if text:
                opening, self._breaks, self._said = BREAK if self._breaks else "", False, True
                return [{"content": opening + text}]
            case events.TurnEnded(_, stopped):
                self.closed = True
                return [refused(STOPPED)] if stopped else []
            case events.TurnFailed(error_text):
                self.closed = True
                return [refused(error_text)]
            case _:
                return []

    def _start_step(self, index: int) -> list[Payload]:
        """Nothing, unless what was sent of this step counts for nothing: it was never committed, and cannot be taken back."""
        again = index <= self._last_step and self._said
        self._last_step = index
        if again:
            self._said = False
        return [refused(BEGUN_AGAIN)] if again else []
