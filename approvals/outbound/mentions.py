"""Notify people who are concerned by name, by mail and on their devices.

The occasions: a note mentions them, someone decided alone, or (for administrators) no one may decide a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import ApprovalRequest, OutboxEvent, PushSubscription
from approvals.outbound import outbox, push
from approvals.outbound.messages import ALONE, MENTIONED, UNDECIDABLE, Mention
from approvals.outbound.quiet_hours import may_leave_at, preferences_of_people
from approvals.states import Channel, Priority

#: Names of these outbox rows. They are for people and are never sent to programs.
TOLD = (MENTIONED, ALONE, UNDECIDABLE)
#: Rows that ignore HITL_NOTIFY_INTERVAL.
AT_ONCE = (ALONE,)


def notify_mentioned(
    request: ApprovalRequest, people: Sequence[User], *, by: str
) -> None:
    """Write a message to each of these people for each of their channels; call this inside the transaction of the note."""
    _store(MENTIONED, request, list(_rows(request, people, "mentioned")), by)


def notify_of_undecidable(request: ApprovalRequest, people: Sequence[User]) -> None:
    """Notify these administrators that no one may decide a request; call this inside the transaction that detects it."""
    _store(UNDECIDABLE, request, list(_rows(request, people, "undecidable")), "")


def notify_of_lone_decision(
    request: ApprovalRequest, people: Sequence[User], *, by: str
) -> None:
    """Notify these people, despite quiet hours, that one person decided alone a request meant for several."""
    rows = [OutboxEvent(channel=channel, target=target, lane=lane, next_attempt_at=Now())
            for _person, channel, target, lane in _ways(people)]  # fmt: skip
    _store(ALONE, request, rows, by)


def _store(
    name: str, request: ApprovalRequest, rows: Sequence[OutboxEvent], by: str
) -> None:
    if not rows:
        return
    event_id = uuid4()
    now = timezone.now()
    stream = outbox.stream_of(request.scope, request.workflow.key)
    number = outbox.next_number(stream)
    data = outbox.request_data(request, request.workflow) | {"by": by}
    for row in rows:
        row.event_id = event_id
        row.name = name
        row.created_at = now
        row.stream = stream
        row.sequence = number
        row.payload = data
    OutboxEvent.objects.bulk_create(rows)


def _rows(
    request: ApprovalRequest, people: Sequence[User], kind: str
) -> Iterator[OutboxEvent]:
    chosen = preferences_of_people({person.pk for person in people})
    now = timezone.now()
    for person, channel, target, lane in _ways(people):
        preferences = chosen.get(person)
        if preferences is not None and f"{channel}:{kind}" in preferences.muted:
            continue
        at = may_leave_at(preferences, now)
        # By the clock of the database, unless the message is held until quiet hours end.
        when = Now() if at <= now or request.priority == Priority.CRITICAL else at
        yield OutboxEvent(
            channel=channel, target=target, lane=lane, next_attempt_at=when
        )


def _ways(people: Sequence[User]) -> Iterator[tuple[int, Channel, str, str]]:
    """Yield the person's id, the channel, the target and the lane of each message."""
    for person in people:
        if settings.HITL_MAIL and person.email:
            yield person.pk, Channel.MAIL, f"mail:{person.pk}", "mail"
    if push.is_available():
        for device in PushSubscription.objects.filter(
            person__in=[person.pk for person in people]
        ).order_by("pk"):
            yield (
                device.person_id,
                Channel.PUSH,
                f"push:{device.pk}",
                outbox.lane_of(device.endpoint),
            )


def mentions_in(rows: Sequence[OutboxEvent], reader: Standing) -> list[Mention]:
    """Return the mentions in these rows, of requests that the reader still may see.

    Administrators also learn, without the title, that no one may decide a request that they may not see.
    """
    notices = {
        (row.payload["request_id"], row.payload["by"], row.name): None
        for row in rows
        if row.name in TOLD
    }
    if not notices:
        return []
    requests = ApprovalRequest.objects.filter(
        pk__in={pk for pk, _by, _name in notices}
    ).select_related("workflow")
    by_id = {str(request.pk): request for request in requests}
    mentions = [Mention(by_id[pk], by, name) for pk, by, name in notices if pk in by_id]
    return [
        shown for mention in mentions if (shown := _shown(mention, reader)) is not None
    ]


def _shown(mention: Mention, reader: Standing) -> Mention | None:
    """Return the mention for this reader; None if they may not see it, or if the request has become decidable."""
    request = mention.request
    stuck = mention.name == UNDECIDABLE
    if stuck and not (
        request.pending
        and request.undecidable_since
        and permissions.may_administer(reader)
    ):
        return None
    if permissions.may_see(reader, request):
        return mention
    return mention._replace(hidden=True) if stuck else None
