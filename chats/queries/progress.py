"""How far a turn is: its steps with their calls, as one value that no one changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from uuid import UUID

from chats.agent.files import count_files
from chats.agent.provider import ModelMessage
from chats.models import Turn
from chats.queries.attachments import file_contents
from chats.queries.projection import answered, result_file_ids
from chats.queries.steps import calls_of_step, history_before, steps_of
from chats.queries.values import CallView, StepView
from chats.states import CallState


@dataclass(frozen=True, slots=True)
class Progress:
    """The steps of a turn with their calls, in order, and the chat before the turn as the model is shown it.

    `files` are the contents of the files that the calls returned. What happens to a turn makes another Progress:
    `chats.actions.transitions`.
    """

    steps: tuple[StepView, ...] = ()
    before: Sequence[ModelMessage] = ()
    files: Mapping[UUID, bytes] = field(default_factory=dict)

    @property
    def stop_reason(self) -> str:
        """The stop reason of the last step."""
        return self.steps[-1].stop_reason if self.steps else ""

    @property
    def calls(self) -> Sequence[CallView]:
        """The calls of the last step. All others are closed: a step begins only when those of the step before are."""
        return self.steps[-1].calls if self.steps else ()

    @property
    def approved(self) -> set[str]:
        """The names of the tools of which a person has approved a call in this turn, and that have run."""
        calls = (call for step in self.steps for call in step.calls)
        return {call.name for call in calls if call.approved and call.state == CallState.SUCCEEDED}

    @property
    def history(self) -> list[ModelMessage]:
        """The chat up to and including this turn, as the model is shown it."""
        return answered(self.before, self.steps, self.files)

    @property
    def usage(self) -> dict[str, int]:
        """What the answers have used together, by the names of the API."""
        used: Counter[str] = Counter()
        for step in self.steps:
            used.update(step.usage)
        return dict(used)

    def call(self, tool_call_id: str) -> CallView | None:
        """Return a call of the last step."""
        return next((call for call in self.calls if call.tool_call_id == tool_call_id), None)

    def with_calls(self, calls: Sequence[CallView]) -> Progress:
        """Return the progress with the calls of the last step as they are now."""
        return replace(self, steps=(*self.steps[:-1], replace(self.steps[-1], calls=tuple(calls))))


#: As many suspended turns of this process are remembered as it has left them.
REMEMBERED = 32
_remembered: dict[tuple[UUID, int], Progress] = {}
_remembering = Lock()


def remember(turn: Turn, progress: Progress) -> None:
    """Remember the progress of a turn that is stored as suspended. Whoever changes the turn changes its version too.

    The decisions about its calls are not part of that. Not with files, which may be large.
    """
    if progress.files or count_files(progress.before):
        return
    with _remembering:
        _remembered[turn.run_id, turn.version] = progress
        while len(_remembered) > REMEMBERED:
            del _remembered[next(iter(_remembered))]


def progress_of(turn: Turn, last: Sequence[CallView] | None = None) -> Progress:
    """Return the progress of a turn that the open transaction has locked, with the chat before it.

    `last` are the calls of its last step, if they are read already.
    """
    with _remembering:
        known = _remembered.pop((turn.run_id, turn.version), None)
    if known is not None:
        last = calls_of_step(turn.pk, len(known.steps) - 1) if last is None else last
        if [call.tool_call_id for call in last] == [call.tool_call_id for call in known.calls]:
            return known.with_calls(last)
    return _read(turn)


def model_history(turn: Turn) -> list[ModelMessage]:
    """Return the chat up to and including this turn, as the model is shown it."""
    return _read(turn).history


def _read(turn: Turn) -> Progress:
    steps = steps_of(turn.pk)
    return Progress(steps, history_before(turn), file_contents(turn.chat_id, result_file_ids(steps)))
