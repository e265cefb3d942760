"""The words of turns and tool calls, and which change may follow which. Imports nothing of ours."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class TurnState(TextChoices):
    """Where one assistant turn stands, across all its pauses."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    SUSPENDED = "suspended", _("Suspended")
    COMPLETED = "completed", _("Completed")
    STOPPED = "stopped", _("Stopped")
    FAILED = "failed", _("Failed")


#: What brought a turn about: a message in a chat, or one of a Cedar-OS front end. Its workflow's `source`.
CHAT, CEDAR = "chat", "cedar"
TURN_SOURCES = frozenset({CHAT, CEDAR})

UNFINISHED = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.SUSPENDED})

ENDED = frozenset(TurnState) - UNFINISHED

TURN_TRANSITIONS: dict[TurnState, frozenset[TurnState]] = {
    TurnState.QUEUED: frozenset({TurnState.RUNNING, TurnState.STOPPED}),
    # running -> running is another runner taking over after the lease lapsed; -> queued hands the turn over.
    TurnState.RUNNING: frozenset(TurnState),
    TurnState.SUSPENDED: frozenset({TurnState.QUEUED, TurnState.STOPPED}),
    TurnState.COMPLETED: frozenset(),
    TurnState.STOPPED: frozenset(),
    TurnState.FAILED: frozenset(),
}


class CallState(TextChoices):
    """Where one tool call stands."""

    WAITING = "waiting", _("Waiting for a person")
    READY = "ready", _("Ready to run")
    EXECUTING = "executing", _("Running")
    DELEGATED = "delegated", _("With a sub-agent")
    UNKNOWN = "unknown", _("Outcome unknown")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    DENIED = "denied", _("Denied")
    CANCELLED = "cancelled", _("Cancelled")


CLOSED = frozenset({CallState.SUCCEEDED, CallState.FAILED, CallState.DENIED, CallState.CANCELLED})

CALL_TRANSITIONS: dict[CallState, frozenset[CallState]] = {
    # waiting -> succeeded is a question's answer, waiting -> failed a question that nobody answered in time.
    CallState.WAITING: frozenset({CallState.READY, *CLOSED}),
    CallState.READY: frozenset({CallState.EXECUTING, CallState.CANCELLED}),
    # executing -> ready is an idempotent tool after a crash.
    CallState.EXECUTING: frozenset(
        {CallState.SUCCEEDED, CallState.FAILED, CallState.UNKNOWN, CallState.READY, CallState.DELEGATED}
    ),
    CallState.DELEGATED: frozenset({CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED}),
    CallState.UNKNOWN: frozenset({CallState.READY, CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED}),
    **dict.fromkeys(CLOSED, frozenset()),
}


class FinishReason(TextChoices):
    """Why a turn paused or ended (AI SDK's words); `tool-calls` if and only if it is suspended."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    TOOL_CALLS = "tool-calls"
    ERROR = "error"
    OTHER = "other"


class CheckpointKind(TextChoices):
    PARTIAL = "partial", _("Partial")
    FINAL = "final", _("Final")
