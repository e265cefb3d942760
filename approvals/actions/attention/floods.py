"""Notify the person who runs an agent, once, of many similar waiting requests. A duty of the sweep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from approvals.db.transactions import after_commit
from approvals.models import ApprovalRequest, Flood
from approvals.outbound.mailing import mail_to, send_later
from approvals.queries.preferences import in_language_of
from approvals.record import audit
from approvals.states import Door, Status
from approvals.text.text import visible

#: Minimum and maximum age of the requests examined; how many kinds of them at once; and the interval of a process in seconds.
#: Most requests are no flood, and the youngest cost the sweep nothing.
SETTLED = timedelta(seconds=15)
LOOK_BACK = timedelta(minutes=2)
MOST_KINDS = 100
PAUSE = 15.0
#: Minimum time between two notices of the same flood.
AGAIN = timedelta(days=1)
_looked_at = float("-inf")


@dataclass(frozen=True, slots=True)
class Stream:
    """Similar requests: those of one agent of one person for one tool, by its canonical name."""

    requested_by_id: int
    agent: str
    canonical_tool: str

    @property
    def waiting(self) -> QuerySet[ApprovalRequest]:
        return ApprovalRequest.objects.filter(
            status=Status.PENDING,
            requested_by=self.requested_by_id,
            agent=self.agent,
            canonical_tool=self.canonical_tool,
        )

    @property
    def tool_name(self) -> str:
        """The name of the tool as in the latest of them."""
        latest = (
            self.waiting.order_by("-created_at", "-id")
            .values_list("tool_name", flat=True)
            .first()
        )
        return latest or self.canonical_tool


def new_requests(now: Any) -> QuerySet[ApprovalRequest]:
    """Return the waiting requests of recent time, except the very latest."""
    return ApprovalRequest.objects.filter(
        status=Status.PENDING,
        created_at__gte=now - LOOK_BACK,
        created_at__lte=now - SETTLED,
    )


def tell_of_floods() -> None:
    """Look for floods, unless this process has just done so."""
    global _looked_at
    if time.monotonic() - _looked_at < PAUSE or not settings.HITL_FLOOD:
        return
    _looked_at = time.monotonic()
    for stream in find_floods():
        tell_of(stream)


def find_floods() -> Iterator[Stream]:
    """Yield the streams with new requests and more than HITL_FLOOD waiting ones. Each count stops there."""
    columns = ("requested_by_id", "agent", "canonical_tool")
    named = new_requests(Now()).filter(canonical_tool__isnull=False)
    for values in named.order_by().values_list(*columns).distinct()[:MOST_KINDS]:
        stream = Stream(*values)
        if (
            stream.waiting.order_by()[: settings.HITL_FLOOD + 1].count()
            > settings.HITL_FLOOD
        ):
            yield stream


def tell_of(stream: Stream) -> bool:
    """Notify the person who runs the agent, on record; return False if they were notified within AGAIN."""
    now = timezone.now()
    key = {
        "requested_by_id": stream.requested_by_id,
        "agent": stream.agent,
        "tool_name": stream.canonical_tool,
    }
    with transaction.atomic():
        flood, new = Flood.objects.get_or_create(**key, defaults={"told_at": now})
        # The condition lets only one of several processes notify them.
        if not new and not Flood.objects.filter(
            pk=flood.pk, told_at__lt=now - AGAIN
        ).update(told_at=now):
            return False
        person = User.objects.get(pk=stream.requested_by_id)
        tool_name = stream.tool_name
        subject = audit.Subject(scope="desk", agent=stream.agent, tool_name=tool_name)
        data = {"requested_by": person.get_username(), "more_than": settings.HITL_FLOOD}
        audit.record("agent.flooded", subject, data=data, actor=None, via=Door.SYSTEM)
        if settings.HITL_MAIL and person.email and person.is_active:
            with in_language_of(person.pk):
                mail = mail_to(
                    person.email,
                    "flood",
                    name=person.get_username(),
                    number=settings.HITL_FLOOD,
                    agent=_in_one_line(stream.agent),
                    tool=_in_one_line(tool_name),
                )
            after_commit(send_later, mail)
    return True


def _in_one_line(text: str) -> str:
    return " ".join(visible(text).split())
