"""The states of turns and tool calls, and their transitions. Imports nothing of the project."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class TurnState(TextChoices):
    """The state of an assistant's turn."""

    QUEUED = "queued", _("Queued")
    RUNNING = "running", _("Running")
    SUSPENDED = "suspended", _("Suspended")
    COMPLETED = "completed", _("Completed")
    STOPPED = "stopped", _("Stopped")
    FAILED = "failed", _("Failed")


#: Origins of a turn: a message in a chat, or one from a Cedar-OS front end. Also the `source` of its workflow.
CHAT = "chat"
CEDAR = "cedar"
TURN_SOURCES = frozenset({CHAT, CEDAR})

UNFINISHED = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.SUSPENDED})

ENDED = frozenset(TurnState) - UNFINISHED


class CallState(TextChoices):
    """The state of a tool call."""

    WAITING = "waiting", _("Waiting for a person")
    READY = "ready", _("Ready to run")
    EXECUTING = "executing", _("Running")
    DELEGATED = "delegated", _("With a sub-agent")
    UNKNOWN = "unknown", _("Outcome unknown")
    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    DENIED = "denied", _("Denied")
    CANCELLED = "cancelled", _("Cancelled")


CLOSED = frozenset(
    {CallState.SUCCEEDED, CallState.FAILED, CallState.DENIED, CallState.CANCELLED}
)

CALL_TRANSITIONS: dict[CallState, frozenset[CallState]] = {
    # waiting -> succeeded: a question was answered; -> failed: it was declined or expired.
    CallState.WAITING: frozenset({CallState.READY, *CLOSED}),
    # ready -> succeeded or failed: the result of its last run arrived before it was run again.
    CallState.READY: frozenset(
        {
            CallState.EXECUTING,
            CallState.SUCCEEDED,
            CallState.FAILED,
            CallState.CANCELLED,
        }
    ),
    # executing -> ready: an idempotent tool after a crash.
    CallState.EXECUTING: frozenset(
        {
            CallState.SUCCEEDED,
            CallState.FAILED,
            CallState.UNKNOWN,
            CallState.READY,
            CallState.DELEGATED,
        }
    ),
    CallState.DELEGATED: frozenset(
        {CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED}
    ),
    CallState.UNKNOWN: frozenset(
        {CallState.READY, CallState.SUCCEEDED, CallState.FAILED, CallState.CANCELLED}
    ),
    **dict.fromkeys(CLOSED, frozenset()),
}


class FinishReason(TextChoices):
    """Why a turn paused or ended, named as in the AI SDK; `tool-calls` if and only if it is suspended."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    TOOL_CALLS = "tool-calls"
    ERROR = "error"
    OTHER = "other"


class CheckpointKind(TextChoices):
    PARTIAL = "partial", _("Partial")
    FINAL = "final", _("Final")
