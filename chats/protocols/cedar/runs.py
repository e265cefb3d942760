"""Reads about what native chats ask people, request by request: Cedar-OS knows each open request as a run of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from approvals.access.permissions import Person, sees_everything
from approvals.api.feed import ENDS
from approvals.exceptions import NotFound
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.queries import get_request_for
from approvals.states import Status
from chats.models import Chat, ToolCall
from chats.states import CEDAR, TURN_SOURCES

#: The open requests that a list shows, the oldest first.
LISTED = 500


@dataclass(frozen=True, slots=True)
class Run:
    """A request, and the tool call for which it was asked; its step, turn and chat are read with it."""

    request: ApprovalRequest
    call: ToolCall

    @property
    def path(self) -> list[str]:
        """Where in its workflow it was asked; never empty."""
        return list(self.request.step_path) or [self.request.tool_name or self.request.title]

    @property
    def said(self) -> str:
        """What the assistant said as it asked."""
        texts = [block["text"].strip() for block in self.call.step.blocks if block.get("type") == "text"]
        return "\n\n".join(filter(None, texts))


def run_for(user: Person, request_id: UUID) -> Run:
    """The run of that id. NotFound: it is absent, not for this person's eyes, or no chat asked it."""
    found = runs_of([get_request_for(user, request_id)])
    if not found:
        raise NotFound(_("Run not found. It may not exist, or you may not have access."))
    return found[0]


def runs_of(requests: Sequence[ApprovalRequest]) -> list[Run]:
    """The requests that chats asked, in their order."""
    asked = Q(approval__in=requests) | Q(recovery__in=requests)
    # The first call last: a branch's copy of a call keeps the request that the first one asked.
    calls = ToolCall.objects.filter(asked).order_by("-id")
    calls = calls.select_related("step", "turn__chat__owner", "turn__root__chat__owner")
    by_request = {pk: call for call in calls for pk in (call.approval_id, call.recovery_id)}
    return [Run(request, by_request[request.pk]) for request in requests if request.pk in by_request]


def open_runs_of(owner: Person, *, thread: str = "") -> list[Run]:
    """What waits for people in the owner's chat of that id; without one, in all that Cedar-OS front ends brought about."""
    found = ApprovalRequest.objects.select_related("workflow").filter(
        status=Status.PENDING, workflow__owner=owner.pk, workflow__source__in=TURN_SOURCES if thread else {CEDAR}
    )
    if thread:
        found = found.filter(workflow__thread_id=thread)
    return runs_of(list(found.order_by("created_at", "id")[:LISTED]))


def may_follow(user: Person, chat: Chat) -> bool:
    """Whether this person may read the chat; who was only asked to decide sees the request and not what is said around it."""
    return sees_everything(user) or chat.owner_id == user.pk


def still_open(decision: Decision) -> list[ApprovalRequest]:
    """What the workflow asked before this decision and still waits for."""
    return [asked for asked in _siblings(decision) if asked.status == Status.PENDING]


def ended_last(decision: Decision) -> bool:
    """Whether this decision was the last that the workflow waited for.

    The record says so: entries of one workflow are written under its lock, so their order is that of the commits, and of
    those who decide at the same moment exactly one is the last.
    """
    siblings = [asked.pk for asked in _siblings(decision)]
    ends = AuditEntry.objects.filter(request_id__in=siblings, event__in=ENDS).order_by("-pk")
    return ends.values_list("request_id", flat=True).first() == decision.request_id


def _siblings(decision: Decision) -> Iterable[ApprovalRequest]:
    # What is asked after the pause is none of it, and may be there already.
    return decision.request.workflow.requests.filter(created_at__lte=decision.decided_at)
