"""Tell people what concerns them by name, by mail and on their devices.

A note mentions them, someone decided alone, or no one may decide a request, which administrators are told.
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

#: The names of these rows in the outbox. They are for people: no program gets them.
TOLD = (MENTIONED, ALONE, UNDECIDABLE)
#: Those of them that are sent whatever else the person was sent within HITL_NOTIFY_INTERVAL.
AT_ONCE = (ALONE,)


def notify_mentioned(request: ApprovalRequest, people: Sequence[User], *, by: str) -> None:
    """Write a message to each of these people for each of their channels; call this inside the transaction of the note."""
    _store(MENTIONED, request, list(_rows(request, people, "mentioned")), by)


def notify_of_undecidable(request: ApprovalRequest, people: Sequence[User]) -> None:
    """Tell these administrators that no one may decide a request; call this inside the transaction that finds it out."""
    _store(UNDECIDABLE, request, list(_rows(request, people, "undecidable")), "")


def notify_of_lone_decision(request: ApprovalRequest, people: Sequence[User], *, by: str) -> None:
    """Tell these people that someone has decided alone what was left to several, at once: quiet hours do not count here."""
    rows = [OutboxEvent(channel=channel, target=target, lane=lane, next_attempt_at=Now())
            for _person, channel, target, lane in _ways(people)]  # fmt: skip
    _store(ALONE, request, rows, by)


def _store(name: str, request: ApprovalRequest, rows: Sequence[OutboxEvent], by: str) -> None:
    if not rows:
        return
    event_id, now, stream = uuid4(), timezone.now(), outbox.stream_of(request.scope, request.workflow.key)
    number, data = outbox.next_number(stream), outbox.request_data(request, request.workflow) | {"by": by}
    for row in rows:
        row.event_id, row.name, row.created_at = event_id, name, now
        row.stream, row.sequence, row.payload = stream, number, data
    OutboxEvent.objects.bulk_create(rows)


def _rows(request: ApprovalRequest, people: Sequence[User], kind: str) -> Iterator[OutboxEvent]:
    chosen, now = preferences_of_people({person.pk for person in people}), timezone.now()
    for person, channel, target, lane in _ways(people):
        preferences = chosen.get(person)
        if preferences is not None and f"{channel}:{kind}" in preferences.muted:
            continue
        at = may_leave_at(preferences, now)
        # By the clock of the database, unless the message waits for the end of quiet hours.
        when = Now() if at <= now or request.priority == Priority.CRITICAL else at
        yield OutboxEvent(channel=channel, target=target, lane=lane, next_attempt_at=when)


def _ways(people: Sequence[User]) -> Iterator[tuple[int, Channel, str, str]]:
    """Yield the id of the person, the channel, the target and the lane of every message."""
    for person in people:
        if settings.HITL_MAIL and person.email:
            yield person.pk, Channel.MAIL, f"mail:{person.pk}", "mail"
    if push.is_available():
        for device in PushSubscription.objects.filter(person__in=[person.pk for person in people]).order_by("pk"):
            yield device.person_id, Channel.PUSH, f"push:{device.pk}", outbox.lane_of(device.endpoint)


def mentions_in(rows: Sequence[OutboxEvent], reader: Standing) -> list[Mention]:
    """Return what these rows tell the reader, of the requests that they still may see.

    Administrators also learn that no one may decide a request that they may not see, without its title.
    """
    notices = {(row.payload["request_id"], row.payload["by"], row.name): None for row in rows if row.name in TOLD}
    if not notices:
        return []
    requests = ApprovalRequest.objects.filter(pk__in={pk for pk, _by, _name in notices}).select_related("workflow")
    by_id = {str(request.pk): request for request in requests}
    mentions = [Mention(by_id[pk], by, name) for pk, by, name in notices if pk in by_id]
    return [shown for mention in mentions if (shown := _shown(mention, reader)) is not None]


def _shown(mention: Mention, reader: Standing) -> Mention | None:
    """Return what a reader is told, None for nothing: they may not see it, or someone may decide the request again."""
    request, stuck = mention.request, mention.name == UNDECIDABLE
    if stuck and not (request.pending and request.undecidable_since and permissions.may_administer(reader)):
        return None
    if permissions.may_see(reader, request):
        return mention
    return mention._replace(hidden=True) if stuck else None
