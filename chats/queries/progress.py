"""The progress of a turn: its steps with their calls, as one immutable value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from uuid import UUID

from chats.agent.files import count_files
from chats.agent.provider import ModelMessage
from chats.checkpoints import Last
from chats.models import Turn
from chats.queries.attachments import file_contents
from chats.queries.conversations import answered
from chats.queries.projection import result_file_ids
from chats.queries.steps import calls_of_step, history_before, steps_of
from chats.queries.turns import last_seq
from chats.queries.values import CallView, StepView
from chats.states import CallState


@dataclass(frozen=True, slots=True)
class Progress:
    """The steps of a turn with their calls, in order, and the chat before the turn in the model's form.

    `files` are the contents of the files that the calls returned. Each change of a turn makes another Progress:
    `chats.actions.transitions`.

    The rest is what need not be read again, because nothing but a change of the turn, which changes its version, could change
    it. `alone` says that the turn opened its chat and no sub-agent has worked for it, so that no other calls have ids beside
    those of its own. `texts_before` are (role, text) of the last messages before the turn, and `checkpoint` is the last one of
    its message; None if they are not known.
    """

    steps: tuple[StepView, ...] = ()
    before: Sequence[ModelMessage] = ()
    files: Mapping[UUID, bytes] = field(default_factory=dict)
    alone: bool = field(default=False, compare=False)
    texts_before: Sequence[tuple[str, str]] | None = field(default=None, compare=False)
    checkpoint: Last | None = field(default=None, compare=False)

    @property
    def stop_reason(self) -> str:
        """The stop reason of the last step."""
        return self.steps[-1].stop_reason if self.steps else ""

    @property
    def calls(self) -> Sequence[CallView]:
        """The calls of the last step. All others are closed: a step begins only when those of the previous step are."""
        return self.steps[-1].calls if self.steps else ()

    @property
    def call_ids(self) -> set[str]:
        """The toolCallIds of all calls."""
        return {call.tool_call_id for step in self.steps for call in step.calls}

    @property
    def approved(self) -> set[str]:
        """The names of the tools with an approved call in this turn that has run."""
        calls = (call for step in self.steps for call in step.calls)
        return {
            call.name
            for call in calls
            if call.approved and call.state == CallState.SUCCEEDED
        }

    @property
    def history(self) -> list[ModelMessage]:
        """The chat up to and including this turn, in the model's form."""
        return answered(self.before, self.steps, self.files)

    @property
    def usage(self) -> dict[str, int]:
        """The total usage of the answers, under the API's names."""
        used: dict[str, int] = defaultdict(int)
        for step in self.steps:
            for name, number in step.usage.items():
                used[name] += number
        return dict(used)

    def call(self, tool_call_id: str) -> CallView | None:
        """Return a call of the last step."""
        return next(
            (call for call in self.calls if call.tool_call_id == tool_call_id), None
        )

    def with_calls(self, calls: Sequence[CallView]) -> Progress:
        """Return the progress with these calls in its last step."""
        return replace(
            self, steps=(*self.steps[:-1], replace(self.steps[-1], calls=tuple(calls)))
        )


@dataclass(frozen=True, slots=True)
class Paused:
    """A suspended turn: its progress, and the number of the last event of its stream."""

    progress: Progress
    last_seq: int


#: Maximum suspended turns of this process whose last value is remembered.
REMEMBERED = 32
_remembered: dict[tuple[UUID, int], Paused] = {}
_remembering = Lock()


def remember(turn: Turn, progress: Progress, last_seq: int) -> None:
    """Remember a turn stored as suspended. Every change of the turn, or of its stream, changes its version too.

    The decisions about its calls are not included. Progress with files, which may be large, is not remembered.
    """
    if progress.files or count_files(progress.before):
        return
    with _remembering:
        _remembered[turn.run_id, turn.version] = Paused(progress, last_seq)
        while len(_remembered) > REMEMBERED:
            del _remembered[next(iter(_remembered))]


def progress_of(turn: Turn) -> Progress:
    """Return the progress of a turn locked by the open transaction, with the chat before it."""
    known = _recall(turn)
    return _read(turn) if known is None else decided_since(turn, known.progress)


def paused_at(turn: Turn) -> Paused:
    """Return how far a locked turn is that may be suspended.

    Of one that this process has suspended, it is what was known then: without what people have decided since.
    """
    return _recall(turn) or Paused(_read(turn), last_seq(turn))


def decided_since(turn: Turn, progress: Progress) -> Progress:
    """Return the progress of a suspended turn with what people have decided about its calls, which is read here."""
    last = calls_of_step(turn.pk, len(progress.steps) - 1)
    if [call.tool_call_id for call in last] != [
        call.tool_call_id for call in progress.calls
    ]:
        return _read(turn)
    return progress.with_calls(last)


def _recall(turn: Turn) -> Paused | None:
    with _remembering:
        return _remembered.pop((turn.run_id, turn.version), None)


def _read(turn: Turn) -> Progress:
    steps = steps_of(turn.pk)
    return Progress(
        steps, history_before(turn), file_contents(turn.chat_id, result_file_ids(steps))
    )
