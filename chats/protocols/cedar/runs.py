"""Runs: to Cedar-OS, each pending request of a chat is a run of its own. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from approvals.access.permissions import sees_everything
from approvals.access.standing import Standing
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.queries import get_request_for
from approvals.record.events import VERDICTS
from approvals.states import Status
from chats.models import Chat, ToolCall
from chats.states import CEDAR, TURN_SOURCES

#: Maximum pending requests in a list, oldest first.
LISTED = 500


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A request, and its tool call, loaded with its step, turn and chat."""

    request: ApprovalRequest
    call: ToolCall

    @property
    def path(self) -> list[str]:
        """The step path of the request; never empty."""
        return list(self.request.step_path) or [
            self.request.tool_name or self.request.title
        ]

    @property
    def text(self) -> str:
        """The agent's text with the request."""
        texts = [
            block["text"].strip()
            for block in self.call.step.blocks
            if block.get("type") == "text"
        ]
        return "\n\n".join(filter(None, texts))


def run_for(viewer: Standing, request_id: UUID) -> AskedCall:
    """Return the run of a request. Raise NotFound if it is absent, hidden from this person, or not from a chat."""
    runs = runs_of([get_request_for(viewer, request_id)])
    if not runs:
        raise NotFound(
            _("Run not found. It may not exist, or you may not have access.")
        )
    return runs[0]


def runs_of(requests: Sequence[ApprovalRequest]) -> list[AskedCall]:
    """Return the runs of those requests that chats made, in the given order."""
    of_requests = Q(approval__in=requests) | Q(recovery__in=requests)
    # Of several calls with one request, the first wins: the others are copies in branches.
    calls = ToolCall.objects.filter(of_requests).order_by("-id")
    calls = calls.select_related("step", "turn__chat__owner", "turn__root__chat__owner")
    by_request = {
        pk: call for call in calls for pk in (call.approval_id, call.recovery_id)
    }
    return [
        AskedCall(request, by_request[request.pk])
        for request in requests
        if request.pk in by_request
    ]


def pending_runs(owner: Standing, *, thread: str = "") -> list[AskedCall]:
    """Return the pending runs of the owner's chat with that id; without one, of all turns started by Cedar-OS."""
    pending = ApprovalRequest.objects.select_related("workflow").filter(
        status=Status.PENDING,
        workflow__owner=owner.pk,
        workflow__source__in=TURN_SOURCES if thread else {CEDAR},
    )
    if thread:
        pending = pending.filter(workflow__thread_id=thread)
    return runs_of(list(pending.order_by("created_at", "id")[:LISTED]))


def may_follow(viewer: Standing, chat: Chat) -> bool:
    """Return whether this person may read the chat. A person who may only decide a request may not."""
    return sees_everything(viewer) or chat.owner_id == viewer.pk


def still_pending(decision: Decision) -> list[ApprovalRequest]:
    """Return the pending requests that the workflow made before this decision."""
    return [
        request for request in _siblings(decision) if request.status == Status.PENDING
    ]


def was_last(decision: Decision) -> bool:
    """Return whether this decision was the last one for which the workflow waited.

    Read from the audit log: the entries of a workflow are written under its lock, in commit order, so of several simultaneous
    decisions exactly one is the last.
    """
    siblings = [request.pk for request in _siblings(decision)]
    ends = AuditEntry.objects.filter(
        request_id__in=siblings, event__in=VERDICTS
    ).order_by("-pk")
    return ends.values_list("request_id", flat=True).first() == decision.request_id


def _siblings(decision: Decision) -> Iterable[ApprovalRequest]:
    # Leave out requests of the next pause, which may exist already.
    return decision.request.workflow.requests.filter(
        created_at__lte=decision.decided_at
    )
