"""The rows of the Workflows page: state, progress by step, and duration of each workflow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.usernames import shown_person
from approvals.asking.titles import is_made
from approvals.models import Workflow
from approvals.queries.workflow_list import ENDED, SUSPENDED, steps_shown
from approvals.states import WorkflowState, status_label

STATE_ICONS = {
    WorkflowState.RUNNING: "play",
    WorkflowState.SUSPENDED: "pause",
    WorkflowState.COMPLETED: "circle-check",
    WorkflowState.CANCELLED: "ban",
    WorkflowState.FAILED: "circle-x",
}


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    """A step of a workflow: its request and its outcome."""

    status: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRow:
    """The context of `approvals/workflows/_row.html`."""

    pk: int
    state: str
    state_label: str
    icon: str
    address: str
    title: str
    key: str
    agent: str
    owner: str
    origin: str
    started_at: datetime
    ended_at: datetime | None
    #: The list that it belongs to.
    list: str
    steps: Sequence[WorkflowStep]
    #: Whether there are earlier steps than these.
    more: bool
    decided: int
    duration: str
    #: Whether the title only repeats the key of the run or the name of a tool.
    made: bool = False

    @property
    def version(self) -> str:
        """A value that changes with everything that the row shows."""
        return (
            f"{self.state}-{self.title}-{'-'.join(step.status for step in self.steps)}"
        )

    @property
    def waits_for(self) -> str:
        """The title of the waiting request, or of the last one; only its status if the workflow has the same title."""
        return (
            self.steps[-1].title.removeprefix(f"{self.title} · ") if self.steps else ""
        )


def workflow_row(workflow: Workflow) -> WorkflowRow:
    """Return the row of a workflow from `workflow_list.with_steps`."""
    steps, more = steps_shown(workflow)
    state = WorkflowState(workflow.state)
    return WorkflowRow(
        pk=workflow.pk,
        state=state,
        state_label=str(state.label),
        icon=STATE_ICONS[state],
        address=workflow.get_absolute_url(),
        title=workflow.shown_title,
        key=workflow.key,
        agent=workflow.agent,
        owner=shown_person(workflow.owner),
        origin=workflow.origin,
        started_at=workflow.started_at,
        ended_at=workflow.ended_at,
        list=ENDED if workflow.ended else SUSPENDED,
        steps=[
            WorkflowStep(
                step.status, f"{step.title} · {status_label(step.status, step.kind)}"
            )
            for step in steps
        ],
        more=more,
        decided=sum(not step.pending for step in steps),
        made=workflow.shown_title == workflow.key
        or any(is_made(workflow.shown_title, step.tool_name) for step in steps[:1]),
        duration=duration_words(
            (workflow.ended_at or timezone.now()) - workflow.started_at
        ),
    )


def duration_words(duration: timedelta) -> str:
    """Return a duration in its two largest units."""
    seconds = max(0, int(duration.total_seconds()))
    days = seconds // 86400
    hours = seconds // 3600 % 24
    minutes = seconds // 60 % 60
    if days:
        return _("%(days)d d %(hours)d h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return _("%(minutes)d min %(seconds)d s") % {
            "minutes": minutes,
            "seconds": seconds % 60,
        }
    return _("%(seconds)d s") % {"seconds": seconds}
