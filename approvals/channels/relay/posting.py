"""Send requests to relays, each version of a message with a new token, until the request has ended; and notices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connections
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from approvals import http_post
from approvals.access import permissions
from approvals.access.standing import Standing, standing_of
from approvals.actions.channels import cards, relays
from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.channels.relay.content import carries, message_of
from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict
from approvals.models import (
    ApprovalRequest,
    ChannelAccount,
    ChannelConnection,
    OutboxEvent,
    Relay,
    RelayMessage,
)
from approvals.outbound import outbox
from approvals.outbound.delivery_lanes import Job
from approvals.outbound.direct import lane_of_relay
from approvals.outbound.mentions import TOLD, mentions_in
from approvals.outbound.webhooks import USER_AGENT, signed_headers
from approvals.queries.preferences import in_language_of
from approvals.queries.requests import whole_requests
from approvals.states import Channel
from approvals.text.secrets import mask_text
from approvals.text.text import in_one_line, visible

#: More new requests for one person at a time become one notice without answers.
FLOOD = 10


class NotDelivered(Exception):
    """A relay did not take a message. `gone`: it never will; `reached`: it responded."""

    def __init__(self, code: str, *, reached: bool, gone: bool = False) -> None:
        self.reached = reached
        self.gone = gone
        super().__init__(code)


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return the due posts to relays: messages whose requests have changed first, then new ones."""
    closed = list(shut)
    stale = due_messages(Now()).select_related("account__connection__relay")
    jobs = [
        _message_job(message, lane)
        for message in stale.order_by("ended", "next_attempt_at")[: outbox.BATCH]
        if (lane := lane_of_relay(message.account.connection_id)) not in closed
    ]
    due = outbox.due_events(Now(), Channel.RELAY).exclude(lane__in=closed)
    by_target: dict[str, list[OutboxEvent]] = {}
    for row in due.order_by("pk")[: outbox.BATCH]:
        by_target.setdefault(row.target, []).append(row)
    return [*jobs, *(_rows_job(rows) for rows in by_target.values())]


def due_messages(now: Any) -> QuerySet[RelayMessage]:
    """Return the messages to look at again, and those whose requests have changed."""
    again = Q(synced_at__isnull=True)
    changed = ~Q(request__changed_at=F("synced_at")) & Q(ended=False)
    return RelayMessage.objects.filter(again | changed, next_attempt_at__lte=now)


def _message_job(message: RelayMessage, lane: str) -> Job:
    return Job(lane, lambda: cards.claim(message), lambda: _update(message))


def _rows_job(rows: list[OutboxEvent]) -> Job:
    claimed: list[OutboxEvent] = []

    def claim() -> bool:
        claimed.extend(row for row in rows if outbox.claim_event(row, cards.LEASE))
        return bool(claimed)

    return Job(rows[0].lane, claim, lambda: _post(claimed))


def post(relay: Relay, event_id: str, kind: str, data: JsonDict) -> None:
    """Post a signed event, and note the state of the relay. Raise NotDelivered."""
    connection = relay.connection
    secrets = secrets_of(connection)
    if secrets is None:
        note_problem(connection, "secret_key_changed")
        raise NotDelivered("secret_key_changed", reached=True)
    now = timezone.now()
    event = {"type": kind, "timestamp": utc(now), "data": data}
    body = json.dumps(event, ensure_ascii=False)
    headers = signed_headers(event_id, body, [secrets.signing_secret], at=now)
    headers |= {"Content-Type": "application/json", "User-Agent": USER_AGENT}
    connections.close_all()  # No database connection is held during the network call.
    try:
        status = http_post.post(
            relay.address,
            body.encode(),
            headers,
            allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE,
            seconds=http_post.SECONDS,
        )
    except http_post.Undelivered as error:
        note_problem(connection, str(error))
        raise NotDelivered(str(error), reached=False) from error
    if status == 410:
        raise NotDelivered("410", reached=True, gone=True)
    if not 200 <= status < 300:
        note_problem(connection, str(status))
        raise NotDelivered(str(status), reached=True)
    note_problem(connection, "")


def post_notice(
    relay: Relay, account: str, text: str, path: str, *, event_id: str = ""
) -> None:
    """Post a notice without answers, in the active language. Raise NotDelivered."""
    data = {
        "account": account,
        "language": get_language(),
        "text": text,
        "open": settings.PUBLIC_URL + path,
    }
    post(relay, event_id or str(uuid4()), "notice", data)


def _update(message: RelayMessage) -> bool:
    """Send the present state of a message; return False if the relay could not be reached."""
    try:
        _sync(message)
    except NotDelivered as error:
        if error.gone or message.attempts >= cards.MOST_ATTEMPTS:
            relays.give_up(message)
        else:
            cards.try_again(message)
        return error.reached
    return True


def _sync(message: RelayMessage) -> None:
    """Send a message if it has changed. Raise NotDelivered."""
    account = message.account
    request = whole_requests().filter(pk=message.request_id).first()
    if request is None:
        relays.give_up(message)
        return
    relay = account.connection.relay
    with in_language_of(account.user_id):
        content = message_of(relay, request, standing_of(account.user))
        if content.look != message.look:
            token = relays.renew(
                message,
                content.verdicts,
                request.voted_digest,
                ended=not request.pending,
            )
            data: JsonDict = {
                "message": str(message.pk),
                "revision": message.revision,
                "account": account.external_id,
                "language": get_language(),
                "title": content.title,
                "text": content.text,
                "open": request.public_url,
            }
            if request.pending:
                until = utc(timezone.now() + relays.VALID_FOR) if token else None
                data |= {"answers": list(content.answers)}
                data |= {"token": token or None, "expires_at": until}
            kind = "request.show" if request.pending else "request.end"
            post(relay, f"{message.pk}.{message.revision}", kind, data)
    relays.message_shown(
        message,
        look=content.look,
        synced_at=request.changed_at,
        ended=not request.pending,
    )


def _post(rows: Sequence[OutboxEvent]) -> bool:
    """Post the due rows of one person; return False if the relay could not be reached."""
    account = _account_of(rows[0].target)
    if account is None:
        outbox.mark_delivered(*rows, note=_("no longer needed"))
        return True
    with in_language_of(account.user_id):
        reader = standing_of(account.user)
        fresh = [row for row in rows if row.name not in {*TOLD, *outbox.FOLLOW_UPS}]
        groups = [fresh] if len(fresh) > FLOOD else [[row] for row in fresh]
        groups += [[row] for row in rows if row not in fresh]
        for group in groups:
            try:
                note = _post_group(account, reader, group)
            except NotDelivered as error:
                for row in group:
                    outbox.record_failure(row, str(error))
                if not error.reached:
                    return False
            else:
                outbox.mark_delivered(*group, note=note)
    return True


def _account_of(target: str) -> ChannelAccount | None:
    """Return the linked account of an outbox target, `relay:<connection>:<person>`."""
    _prefix, connection_id, person_id = target.split(":")
    rows = ChannelAccount.objects.select_related("user", "connection__relay")
    return rows.filter(
        connection=int(connection_id),
        connection__kind=ChannelConnection.Kind.RELAY,
        user=int(person_id),
        user__is_active=True,
    ).first()


def _post_group(
    account: ChannelAccount, reader: Standing, rows: Sequence[OutboxEvent]
) -> str:
    """Post one message, or one notice for many rows; return why not, if it is no longer needed. Raise NotDelivered."""
    relay = account.connection.relay
    row = rows[0]
    if len(rows) > 1:
        count = len(rows)
        words = ngettext(
            "%(count)d new request is waiting",
            "%(count)d new requests are waiting",
            count,
        )
        path = reverse("approvals:dashboard")
        return _noticed(account, row, words % {"count": count}, path)
    if row.name in TOLD:
        mentions = mentions_in(rows, reader)
        if not mentions:
            return _("no longer needed")
        [mention] = mentions
        carried = carries(relay, mention.request)
        line = mention.line if carried else mention.title
        return _noticed(account, row, line, mention.path)
    request = whole_requests().filter(pk=row.payload["request_id"]).first()
    if (
        request is None
        or not request.pending
        or not permissions.may_see(reader, request)
    ):
        return _("no longer needed")
    message = relays.open_message(account, request)
    if row.name in outbox.FOLLOW_UPS:
        return _noticed(
            account, row, _reminder(relay, request), request.get_absolute_url()
        )
    if cards.claim(message):
        try:
            _sync(message)
        except NotDelivered as error:
            if error.gone:
                relays.give_up(message)
            raise
    return ""


def _reminder(relay: Relay, request: ApprovalRequest) -> str:
    shown = carries(relay, request)
    title = mask_text(request.title) if shown else _("Request")
    return _("Reminder: this request is still waiting: %(title)s") % {"title": title}


def _noticed(account: ChannelAccount, row: OutboxEvent, text: str, path: str) -> str:
    text = in_one_line(visible(text))
    event_id = f"{row.event_id}.{account.pk}"
    post_notice(
        account.connection.relay, account.external_id, text, path, event_id=event_id
    )
    return ""
