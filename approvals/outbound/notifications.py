"""Notify people of new requests by mail, in chat channels or in browsers, with several requests in one message.

A new request writes one row to the outbox. It is expanded to one row for each person named by a rule who may see the
request. Each of them gets one message per HITL_NOTIFY_INTERVAL with all requests that are still waiting. A message has only
titles, agents and links, so that people have to log in to read the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from smtplib import SMTPRecipientsRefused

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils.translation import gettext, override

from approvals import http_post
from approvals.access import permissions
from approvals.access.standing import NOBODY, Standing, standing_of, standings_of
from approvals.db import pool
from approvals.models import ApprovalRequest, OutboxEvent, PushSubscription
from approvals.models.subscriptions import LastNotice, NotificationRule
from approvals.outbound import messages, outbox, push
from approvals.outbound.delivery_lanes import Job
from approvals.outbound.mailing import send_now
from approvals.outbound.mentions import AT_ONCE, TOLD, mentions_in
from approvals.outbound.recipients import audience_of, recipients_of
from approvals.queries.preferences import in_language_of, languages_of
from approvals.states import Channel, Route, Status

logger = logging.getLogger(__name__)

#: The channels of notifications.
CHANNELS = (Channel.MAIL, Channel.SLACK, Channel.PUSH)
#: Maximum number of requests in a message; the others wait for the next one.
MAX_REQUESTS = 500
LEASE = timedelta(minutes=1)
NEVER = datetime(2000, 1, 1, tzinfo=UTC)


class NotSent(Exception):
    """A message was not sent, and will be tried again. `reached`: the server responded."""

    def __init__(self, reason: str, *, reached: bool) -> None:
        self.reached = reached
        super().__init__(reason)


def spread_due_notices() -> None:
    """Expand the row of each new request into one row per person or channel to notify."""
    due = outbox.due_events(Now(), Channel.NOTICE).order_by("pk")
    rows = [row for row in due[: outbox.BATCH] if outbox.claim_event(row, LEASE)]
    if not rows:
        return
    active = (
        NotificationRule.objects.filter(active=True)
        .select_related("person", "group")
        .order_by("pk")
    )
    rules = list(active.prefetch_related("group__user_set"))
    for row in rows:
        try:
            with transaction.atomic():
                OutboxEvent.objects.bulk_create(
                    _spread(row, rules), ignore_conflicts=True
                )
                outbox.mark_delivered(row)
        except Exception as error:
            logger.exception(
                "No one was notified of request %s yet; it will be tried again",
                row.payload["request_id"],
            )
            outbox.record_failure(row, f"{type(error).__name__}: {error}")


def _spread(row: OutboxEvent, rules: list[NotificationRule]) -> list[OutboxEvent]:
    request = ApprovalRequest.objects.filter(
        pk=row.payload["request_id"], status=Status.PENDING
    ).first()
    if request is None:
        return []
    names = ("event_id", "name", "stream", "sequence", "payload", "created_at")
    copied = {name: getattr(row, name) for name in names}
    return [
        OutboxEvent(
            **copied, channel=channel, target=target, lane=lane, next_attempt_at=at
        )
        for target, channel, lane, at in recipients_of(row, request, rules)
    ]


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return jobs for recipients with due rows, unless they got a message within HITL_NOTIFY_INTERVAL and no row is urgent."""
    lately = LastNotice.objects.filter(at__gt=_long_ago())
    due = outbox.due_events(Now(), *CHANNELS).exclude(lane__in=list(shut))
    told_lately = Q(target__in=lately.values("recipient"))
    targets = (
        due.filter(~told_lately | Q(name__in=AT_ONCE))
        .values_list("target", "lane")
        .distinct()
    )
    return [
        _job(target, lane)
        for target, lane in targets.order_by("target")[: outbox.BATCH]
    ]


def _job(target: str, lane: str) -> Job:
    last = LastNotice(recipient=target)
    return Job(lane, partial(_claim, last), partial(_send, last))


def _claim(last: LastNotice) -> bool:
    """Claim the next message to a recipient by updating the stored time of the last one; `last` keeps the old time.

    If the recipient has an urgent row, the last message does not count, and the row is claimed instead.
    """
    stored, _ = LastNotice.objects.get_or_create(
        recipient=last.recipient, defaults={"at": NEVER}
    )
    last.pk = stored.pk
    last.at = stored.at
    urgent = outbox.due_events(Now(), *CHANNELS).filter(
        target=last.recipient, name__in=AT_ONCE
    )
    if [row for row in urgent if outbox.claim_event(row, LEASE)]:
        LastNotice.objects.filter(pk=last.pk).update(at=Now())
        return True
    unmoved = LastNotice.objects.filter(pk=last.pk, at__lte=_long_ago())
    return bool(unmoved.update(at=Now()))


def _long_ago() -> CombinedExpression:
    return Now() - timedelta(seconds=settings.HITL_NOTIFY_INTERVAL)


def _send(last: LastNotice) -> bool:
    """Send one message with all due rows of a recipient; return False if the server was not reached."""
    # Rows held by quiet hours stay, even when a critical request is sent at once.
    due = outbox.undelivered_events(*CHANNELS).exclude(
        attempts=0, next_attempt_at__gt=Now()
    )
    rows = list(due.filter(target=last.recipient).order_by("pk")[:MAX_REQUESTS])
    kind, _, pk = last.recipient.partition(":")
    try:
        sent = SENDERS[kind](pk, rows)
    except NotSent as error:
        _put_off(last, rows, str(error))
        return error.reached
    except pool.AWAY:
        raise
    except Exception as error:
        # Count a failure, so that the row is given up eventually instead of being retried for ever.
        logger.exception(
            "The message to %s was not sent; it will be tried again", last.recipient
        )
        _put_off(last, rows, f"{type(error).__name__}: {error}")
        return True
    if not sent:
        LastNotice.objects.filter(pk=last.pk).update(at=last.at)
    outbox.mark_delivered(*rows, note="" if sent else gettext("no longer needed"))
    return True


def _put_off(last: LastNotice, rows: list[OutboxEvent], error: str) -> None:
    with transaction.atomic():
        LastNotice.objects.filter(pk=last.pk).update(at=last.at)
        for row in rows:
            row.attempts += 1
            OutboxEvent.objects.filter(pk=row.pk).update(attempts=row.attempts)
            outbox.record_failure(row, error)


def _still_waiting(
    rows: list[OutboxEvent], readers: Sequence[Standing]
) -> list[ApprovalRequest]:
    """Return the requests that are still waiting and that every reader may see."""
    ids = [row.payload["request_id"] for row in rows if row.name not in TOLD]
    pending = ApprovalRequest.objects.filter(
        pk__in=ids, status=Status.PENDING
    ).select_related("workflow")
    waiting = list(pending.order_by("urgency", "created_at", "id"))
    return [
        request
        for request in waiting
        if all(permissions.may_see(reader, request) for reader in readers)
    ]


def _mail(pk: str, rows: list[OutboxEvent]) -> bool:
    person = User.objects.filter(pk=pk, is_active=True).exclude(email="").first()
    if person is None:
        return False
    standing = standing_of(person)
    requests = _still_waiting(rows, [standing])
    mentions = mentions_in(rows, standing)
    if not (requests or mentions):
        return False
    if not settings.HITL_MAIL:
        raise NotSent(
            gettext("no email can be sent because EMAIL_HOST is not set"), reached=True
        )
    with in_language_of(person.pk):
        message = messages.mail(person, standing, requests, mentions)
    try:
        send_now(message)
    except (OSError, ValueError) as error:
        # From smtplib, and from Django for a malformed address.
        reached = isinstance(error, ValueError | SMTPRecipientsRefused)
        raise NotSent(f"{type(error).__name__}: {error}", reached=reached) from error
    return True


def _slack(pk: str, rows: list[OutboxEvent]) -> bool:
    rule = NotificationRule.objects.filter(
        pk=pk, active=True, route=Route.SLACK
    ).first()
    readers = audience_of(rule) if rule else []
    known = standings_of({reader.pk for reader in readers})
    requests = (
        _still_waiting(rows, [known.get(reader.pk, NOBODY) for reader in readers])
        if readers
        else []
    )
    if rule is None or not requests:
        return False
    body = messages.slack(requests)
    connections.close_all()
    headers = {"Content-Type": "application/json"}
    try:
        allowed = settings.HITL_WEBHOOK_ALLOW_PRIVATE
        status = http_post.post(
            rule.slack_url,
            body,
            headers,
            allow_private=allowed,
            seconds=http_post.SECONDS,
        )
    except http_post.Undelivered as error:
        raise NotSent(str(error), reached=False) from error
    if not 200 <= status < 300:
        raise NotSent(gettext("answered %(status)s") % {"status": status}, reached=True)
    return True


def _push(pk: str, rows: list[OutboxEvent]) -> bool:
    alive = Session.objects.filter(
        session_key=OuterRef("session_key"), expire_date__gt=Now()
    )
    subscription = (
        PushSubscription.objects.filter(Exists(alive), pk=pk, person__is_active=True)
        .select_related("person")
        .first()
    )
    if subscription is None:
        return False
    standing = standing_of(subscription.person)
    requests = _still_waiting(rows, [standing])
    mentions = mentions_in(rows, standing)
    if not (requests or mentions) or not push.is_available():
        return False
    language = languages_of([subscription.person_id])[subscription.person_id]
    connections.close_all()
    try:
        with override(language):
            status = push.send(subscription, requests, mentions)
    except http_post.Undelivered as error:
        raise NotSent(str(error), reached=False) from error
    if status in push.GONE:
        subscription.delete()
        return False
    if not 200 <= status < 300:
        raise NotSent(gettext("answered %(status)s") % {"status": status}, reached=True)
    return True


#: Functions that send a message, by the prefix of the recipient.
SENDERS: dict[str, Callable[[str, list[OutboxEvent]], bool]] = {
    "mail": _mail,
    "slack": _slack,
    "push": _push,
}
