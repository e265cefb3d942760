"""What a runner knows of its turn: read once when it claims the turn, and kept up to date with what the runner writes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from django.db.models import BigAutoField

from approvals.runtime.prepared import Parameter, Prepared
from chats.agent.provider import ModelMessage
from chats.models import Step, ToolCall, Turn
from chats.queries.projection import StepView, model_messages
from chats.queries.steps import call_view, history_before
from chats.states import CallState


@dataclass(slots=True)
class Progress:
    """The committed steps of a turn with their calls, in order, and the chat before the turn as the model is shown it.

    Only the runner that holds the lease may use it, and only while `is_ours`.
    """

    steps: list[tuple[Step, list[ToolCall]]]
    before: list[ModelMessage] = field(default_factory=list)

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
        return [
            StepView(step.blocks, [call_view(call) for call in calls], step.provider, step.model)
            for step, calls in self.steps
        ]

    @property
    def history(self) -> list[ModelMessage]:
        """The chat up to and including this turn, as the model is shown it."""
        return [*self.before, *model_messages(self.views)]


_STEPS: Prepared[Step] = Prepared(lambda: Step.objects.filter(turn=Parameter("turn", BigAutoField())).order_by("index"))
_CALLS: Prepared[ToolCall] = Prepared(
    lambda: (
        ToolCall.objects.filter(turn=Parameter("turn", BigAutoField()))
        .select_related("approval__decision", "recovery__decision")
        .order_by("id")
    )
)


def progress_of(turn: Turn) -> Progress:
    """Read the progress of a turn, with the chat before it."""
    return Progress(steps_of(turn).steps, history_before(turn))


def steps_of(turn: Turn) -> Progress:
    """Read the progress of a turn, without the chat before it."""
    steps = _STEPS.all(turn=turn.pk)
    calls: dict[int, list[ToolCall]] = defaultdict(list)
    for call in _CALLS.all(turn=turn.pk) if steps else []:
        call.turn = turn
        calls[call.step_id].append(call)
    return Progress([(step, calls[step.pk]) for step in steps])


def model_history(turn: Turn) -> list[ModelMessage]:
    """Return the chat up to and including this turn, as the model is shown it."""
    return progress_of(turn).history
