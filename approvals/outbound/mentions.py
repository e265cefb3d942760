"""Notify people who are concerned by name, by mail, on their devices and through their relays.

The occasions: a note mentions them, someone decided alone, or (for administrators) no one may decide a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.models import (
    ApprovalRequest,
    ChannelAccount,
    ChannelConnection,
    OutboxEvent,
    PushSubscription,
)
from approvals.outbound import outbox, push
from approvals.outbound.direct import through_relay
from approvals.outbound.messages import ALONE, MENTIONED, UNDECIDABLE, Mention
from approvals.outbound.person_mails import due_for
from approvals.outbound.quiet_hours import preferences_of_people
from approvals.states import Channel

#: Names of these outbox rows. They are for people and are never sent to programs.
TOLD = (MENTIONED, ALONE, UNDECIDABLE)
#: Rows that ignore HITL_NOTIFY_INTERVAL.
AT_ONCE = (ALONE,)


def notify_mentioned(
    request: ApprovalRequest, people: Sequence[User], *, by: str
) -> None:
    """Write a message to each of these people for each of their channels; call this inside the transaction of the note."""
    rows = list(_rows(request, people, "mentioned"))
    outbox.write_request_event(MENTIONED, rows, request, by=by)


def notify_of_undecidable(request: ApprovalRequest, people: Sequence[User]) -> None:
    """Notify these administrators that no one may decide a request; call this inside the transaction that detects it."""
    rows = list(_rows(request, people, "undecidable"))
    outbox.write_request_event(UNDECIDABLE, rows, request, by="")


def notify_of_lone_decision(
    request: ApprovalRequest, people: Sequence[User], *, by: str
) -> None:
    """Notify these people, despite quiet hours, that one person decided alone a request meant for several."""
    rows = [OutboxEvent(channel=channel, target=target, lane=lane, next_attempt_at=Now())
            for _person, channel, target, lane in _ways(people)]  # fmt: skip
    outbox.write_request_event(ALONE, rows, request, by=by)


def _rows(
    request: ApprovalRequest, people: Sequence[User], kind: str
) -> Iterator[OutboxEvent]:
    chosen = preferences_of_people({person.pk for person in people})
    for person, channel, target, lane in _ways(people):
        preferences = chosen.get(person)
        if preferences is None or f"{channel}:{kind}" not in preferences.muted:
            yield OutboxEvent(
                channel=channel,
                target=target,
                lane=lane,
                next_attempt_at=due_for(preferences, request),
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
    linked = ChannelAccount.objects.filter(
        user__in=[person.pk for person in people],
        connection__kind=ChannelConnection.Kind.RELAY,
    )
    for account in linked.order_by("pk"):
        direct = through_relay(account.connection_id, account.user_id)
        yield account.user_id, direct.channel, direct.target, direct.lane


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
