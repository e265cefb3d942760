"""What a runner knows of its turn: read once when it claims the turn, and kept up to date with what the runner writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import BigAutoField, CharField

from approvals.runtime.prepared import Parameter, Prepared
from chats.agent.provider import ModelMessage
from chats.models import Message, Step, ToolCall, Turn
from chats.queries.attachments import file_contents
from chats.queries.projection import StepView, answered, result_file_ids
from chats.queries.steps import call_view, history_before, step_view
from chats.states import CallState


@dataclass(slots=True)
class Progress:
    """The committed steps of a turn with their calls, in order, and the chat before the turn as the model is shown it.

    `files` are the contents of the files that the calls returned.

    Only the runner that holds the lease may use it, and only while `is_ours`.
    """

    steps: list[tuple[Step, list[ToolCall]]]
    before: list[ModelMessage] = field(default_factory=list)
    files: dict[UUID, bytes] = field(default_factory=dict)

    @property
    def stop_reason(self) -> str:
        """The stop reason of the last step."""
        return self.steps[-1][0].stop_reason if self.steps else ""

    @property
    def calls(self) -> list[ToolCall]:
        """The calls of the last step."""
        return self.steps[-1][1] if self.steps else []

    @property
    def is_ours(self) -> bool:
        """Whether nobody but the runner changes these calls.

        People decide about calls that have asked them, results of earlier runs may arrive for calls whose outcome is
        unknown, and sub-agents end on their own.
        """
        return not any(
            call.state in {CallState.UNKNOWN, CallState.DELEGATED}
            or (call.state == CallState.WAITING and call.approval_id is not None)
            for _, calls in self.steps
            for call in calls
        )

    @property
    def views(self) -> list[StepView]:
        return [step_view(step, [call_view(call) for call in calls]) for step, calls in self.steps]

    @property
    def approved(self) -> set[str]:
        """The names of the tools of which a person has approved a call in this turn, and that have run."""
        calls = (call for view in self.views for call in view.calls)
        return {call.name for call in calls if call.approved and call.state == CallState.SUCCEEDED}

    @property
    def history(self) -> list[ModelMessage]:
        """The chat up to and including this turn, as the model is shown it."""
        return answered(self.before, self.views, self.files)


_STEPS: Prepared[Step] = Prepared(lambda: Step.objects.filter(turn=Parameter("turn", BigAutoField())).order_by("index"))
_STEPS_OF_MESSAGE: Prepared[Step] = Prepared(
    lambda: Step.objects.filter(
        turn__chat=Parameter("chat", BigAutoField()), turn__message_id=Parameter("message_id", CharField())
    ).order_by("index")
)
_CALLS: Prepared[ToolCall] = Prepared(
    lambda: (
        ToolCall.objects.filter(turn=Parameter("turn", BigAutoField()))
        .select_related("approval__decision", "recovery__decision")
        .order_by("id")
    )
)


def progress_of(turn: Turn) -> Progress:
    """Read the progress of a turn, with the chat before it."""
    progress = steps_of(turn)
    files = file_contents(turn.chat_id, result_file_ids(progress.views))
    return Progress(progress.steps, history_before(turn), files)


def steps_of(turn: Turn) -> Progress:
    """Read the progress of a turn, without the chat before it."""
    progress = _with_calls(_STEPS.all(turn=turn.pk))
    for _, calls in progress.steps:
        for call in calls:
            call.turn = turn
    return progress


def steps_of_message(message: Message) -> Progress:
    """Read the progress of the turn that answers with this message; without steps if there is none."""
    return _with_calls(_STEPS_OF_MESSAGE.all(chat=message.chat_id, message_id=message.message_id))


def _with_calls(steps: Sequence[Step]) -> Progress:
    """Read the calls of all steps of a turn."""
    calls: dict[int, list[ToolCall]] = defaultdict(list)
    for call in _CALLS.all(turn=steps[0].turn_id) if steps else []:
        calls[call.step_id].append(call)
    return Progress([(step, calls[step.pk]) for step in steps])


def model_history(turn: Turn) -> list[ModelMessage]:
    """Return the chat up to and including this turn, as the model is shown it."""
    return progress_of(turn).history
