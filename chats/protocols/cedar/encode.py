"""Encode a turn for a Cedar-OS front end (npm cedar-os 0.1.x): text as `{"content"}`, requests as `humanInTheLoop` objects.

Observed with the published package: its parser splits events at LF LF only, shows data that is not a JSON object as text, shows
an object with both `type` and `content` twice, and prints objects of unknown types raw. So only text, `humanInTheLoop` and
`progress_update` are sent, and never an object from a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.live import sse
from chats.agent import events
from chats.queries import values

Payload = dict[str, Any]

CONTENT_TYPE = f"{sse.CONTENT_TYPE}; charset=utf-8"
HEADERS = sse.HEADERS
#: Marks the end. Cedar stays busy until the connection closes anyway.
DONE = b"event: done\ndata:\n\n"
#: Maximum duration of a browser's timer. A longer one would fire at once.
MAX_TIMEOUT_MS = 2**31 - 1
BREAK = "\n\n"
STOPPED = "This was stopped."
BEGUN_AGAIN = "The answer was restarted on the server. The new answer follows."


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """A pending request. `text` is the agent's text with it; `url` is the request's page in Pausepoint."""

    run_id: str
    step_path: Sequence[str]
    kind: str
    title: str
    message: str
    tool_name: str
    input: Mapping[str, Any]
    response_schema: Any
    text: str
    priority: str
    url: str
    thread_id: str
    workflow_id: str
    asked_at: datetime
    deadline_at: datetime | None
    approves: bool
    #: The progress of its votes in words; None if one person decides it.
    progress: str | None


def human_in_the_loop(suspension: Suspension, *, now: datetime) -> Payload:
    """Return the object that makes Cedar wait. It has `timeoutMs` only if there is a deadline.

    `suspendPayload` holds the fields of the input besides Pausepoint's own, which take precedence; the whole input is under
    `input`.
    """
    payload: Payload = {
        "type": "humanInTheLoop",
        "status": "suspended",
        "runId": suspension.run_id,
        "stepPath": [list(suspension.step_path)],
        "suspendPayload": {
            **suspension.input,
            "pendingResponse": suspension.text or suspension.title,
            "requiresApproval": suspension.approves,
            "toolName": suspension.tool_name,
            "input": dict(suspension.input),
            "responseSchema": suspension.response_schema,
        },
        "message": BREAK.join(filter(None, (suspension.title, suspension.message))),
    }
    if suspension.deadline_at is not None:
        left = int((suspension.deadline_at - now).total_seconds() * 1000)
        payload["timeoutMs"] = min(max(left, 1), MAX_TIMEOUT_MS)
    payload["metadata"] = {
        "kind": suspension.kind,
        "title": suspension.title,
        "threadId": suspension.thread_id,
        "workflowId": suspension.workflow_id,
        "priority": suspension.priority,
        "url": suspension.url,
        "suspendedAt": suspension.asked_at.isoformat(),
        "deadline": suspension.deadline_at.isoformat()
        if suspension.deadline_at
        else None,
        "progress": suspension.progress,
    }
    return payload


def notice(text: str) -> Payload:
    """Return a status line for the chat."""
    return {"type": "progress_update", "state": "complete", "text": text}


def error_line(text: str, errors: Mapping[str, str] | None = None) -> Payload:
    """Return an error line for the chat, because Cedar does not show the body of an error response."""
    named = " ".join(f"({name}: {problem})" for name, problem in (errors or {}).items())
    return {
        "type": "progress_update",
        "state": "error",
        "text": " ".join(filter(None, (text, named))),
    }


def frame(payload: Payload) -> bytes:
    return sse.frame(json.dumps(payload, ensure_ascii=False, separators=(",", ":")))


def answer(payloads: Iterable[Payload]) -> Payload:
    """Return the same as one JSON document: `{text, object?}`; `object` is a list if there are several."""
    text = ""
    objects = []
    for payload in payloads:
        if "content" in payload:
            text += payload["content"]
        else:
            objects.append(payload)
    document: Payload = {"text": text}
    if objects:
        document["object"] = objects[0] if len(objects) == 1 else objects
    return document


class AnswerStream:
    """Encode a turn's events: its texts, one paragraph each, and a line if it failed or was stopped.

    `closed` is True once the turn has ended.
    """

    def __init__(self) -> None:
        self.closed = False
        self._wrote_text = False
        self._new_paragraph = False
        self._last_step = -1

    def encode(self, event: events.Event) -> list[Payload]:
        match event:
            case events.StepStarted(index):
                return self._start_step(index)
            case events.TextStarted():
                self._new_paragraph = self._wrote_text
                return []
            case events.TextDelta(_, text) if text:
                opening = BREAK if self._new_paragraph else ""
                self._new_paragraph = False
                self._wrote_text = True
                return [{"content": opening + text}]
            case events.AnswerRemarked(remark) if remark["code"] != values.BROKEN_OFF:
                return [notice(values.words_of(remark))]
            case events.TurnEnded(_, stopped):
                self.closed = True
                return [error_line(STOPPED)] if stopped else []
            case events.TurnFailed(error_text):
                self.closed = True
                return [error_line(error_text)]
            case _:
                return []

    def _start_step(self, index: int) -> list[Payload]:
        """Return a line if text of this step was sent before: it was not committed, and cannot be retracted."""
        again = index <= self._last_step and self._wrote_text
        self._last_step = index
        if again:
            self._wrote_text = False
        return [error_line(BEGUN_AGAIN)] if again else []
