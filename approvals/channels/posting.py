"""Post cards, rewrite them when their requests change, and send the lines that answer clicks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from approvals.actions.channels import cards, clicks
from approvals.actions.channels.links import offer_link
from approvals.channels.content import content_of, hidden, result_words
from approvals.channels.messenger import ChannelError, ChannelMessage, Messenger
from approvals.channels.messengers import MESSENGERS
from approvals.models import (
    ApprovalRequest,
    AuditEntry,
    ChannelAccount,
    ChannelCard,
    ChannelClick,
    ChannelConnection,
    NotificationRule,
    OutboxEvent,
)
from approvals.outbound import outbox
from approvals.outbound.delivery_lanes import Job
from approvals.outbound.recipients import all_see, audience_of
from approvals.queries.preferences import languages_of
from approvals.queries.requests import whole_requests
from approvals.queries.results import results_of
from approvals.record.events import RESULTS
from approvals.states import KIND_OF_ROUTE, Channel, Status

LEASE = timedelta(minutes=1)
#: More new requests for one conversation at a time become one message without buttons.
FLOOD = 10
#: How long the thread of an approved request may still hear its result.
TELLS_FOR = timedelta(days=1)
#: How often a line to a clicker is tried.
MOST_LINES = 4


class NotPosted(Exception):
    """Nothing has to be posted; the message says why."""


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return the due calls of channels: lines to clickers first, then cards to rewrite, then new cards."""
    closed = set(shut)
    open_ones = Q(connection__kind__in=MESSENGERS.keys() - closed)
    lines = due_lines(Now()).filter(open_ones).select_related("connection")
    known = due_cards(Now()).filter(open_ones).select_related("connection")
    stale = known.order_by("ended", "next_attempt_at")
    return [
        *(_job(line, _send_line) for line in lines[: outbox.BATCH]),
        *(_job(card, _rewrite) for card in stale[: outbox.BATCH]),
        *(_post_job(rows) for rows in _new_messages(closed)),
    ]


def _new_messages(shut: set[str]) -> list[list[OutboxEvent]]:
    """Return the due rows by message: one card each, unless there are too many for one conversation."""
    open_ones = outbox.due_events(Now(), Channel.CARD).exclude(lane__in=shut)
    due = open_ones.order_by("pk")[: outbox.BATCH]
    single: list[list[OutboxEvent]] = []
    new: dict[str, list[OutboxEvent]] = {}
    for row in due:
        if row.name in outbox.FOLLOW_UPS:
            single.append([row])
        else:
            new.setdefault(row.target, []).append(row)
    for rows in new.values():
        single += [rows] if len(rows) > FLOOD else [[row] for row in rows]
    return single


def _job(row: Any, work: Any) -> Job:
    lane = row.connection.kind
    return Job(lane, lambda: cards.claim(row), lambda: work(row))


def _post_job(rows: list[OutboxEvent]) -> Job:
    claimed: list[OutboxEvent] = []

    def claim() -> bool:
        claimed.extend(row for row in rows if outbox.claim_event(row, LEASE))
        return bool(claimed)

    return Job(rows[0].lane, claim, lambda: _post(claimed))


def due_lines(now: Any) -> QuerySet[ChannelClick]:
    """Return the clicks whose authors have yet to be answered."""
    return ChannelClick.objects.filter(next_attempt_at__lte=now).exclude(reply="")


def due_cards(now: Any) -> QuerySet[ChannelCard]:
    """Return the cards to look at again, those whose requests have changed, and those whose approved calls have a result."""
    again = Q(synced_at__isnull=True)
    changed = ~Q(request__changed_at=F("synced_at")) & Q(ended=False)
    reported = AuditEntry.objects.filter(
        request_id=OuterRef("request_id"), event__in=RESULTS
    )
    due = Q(reported=False) | again, Q(next_attempt_at__lte=now)
    return ChannelCard.objects.filter(
        *due, again | changed | (Q(ended=True, reported=False) & Exists(reported))
    )


def _post(rows: Sequence[OutboxEvent]) -> bool:
    """Post the card of an outbox row, or one message for many rows; return False if the channel could not be reached."""
    try:
        if len(rows) > 1:
            _post_digest(rows)
        else:
            _post_card(rows[0])
    except NotPosted as reason:
        outbox.mark_delivered(*rows, note=str(reason))
    except ChannelError as error:
        for row in rows:
            outbox.record_failure(row, error.code, least=error.retry_after)
        return not error.stops
    else:
        outbox.mark_delivered(*rows)
    return True


@dataclass(frozen=True, slots=True)
class _Target:
    """The rule behind an outbox row, and the recipient of its direct messages if there is no channel."""

    connection: ChannelConnection
    rule: NotificationRule
    person: User | None

    @property
    def messenger(self) -> Messenger:
        return MESSENGERS[self.connection.kind]


def _target_of(row: OutboxEvent) -> _Target:
    """Return where a row is posted. Raise NotPosted."""
    _prefix, rule_id, *person_id = row.target.split(":")
    rules = NotificationRule.objects.filter(active=True, route__in=KIND_OF_ROUTE)
    rule = rules.filter(pk=rule_id).first()
    connections = ChannelConnection.objects.filter(kind=rule.kind if rule else "")
    connection = connections.first()
    people = User.objects.filter(pk__in=person_id, is_active=True)
    person = people.first() if person_id else None
    if rule is None or connection is None or (person_id and person is None):
        raise NotPosted(_("no longer needed"))
    return _Target(connection, rule, person)


def _post_card(row: OutboxEvent) -> None:
    """Post the card, or a line in the thread of the card that is there. Raise NotPosted or ChannelError."""
    to = _target_of(row)
    request = whole_requests().filter(pk=row.payload["request_id"]).first()
    if request is None or not request.pending or not _may_see(to, request):
        raise NotPosted(_("no longer needed"))
    channel_id = _conversation(to)
    card = ChannelCard.objects.filter(
        connection=to.connection, request=request, channel_id=channel_id
    ).first()
    with override(_language_of(to.person)):
        if card is not None:
            _follow_up(to.connection, card, row.name)
            return
        message = _card(to.connection, request, to.rule.shows, channel_id, to.person)
    message_ts = to.messenger.post(to.connection, channel_id, message)
    cards.store_card(
        to.connection,
        request,
        channel_id,
        message_ts,
        person=to.person,
        shows=to.rule.shows,
        look=message.look,
    )


def _post_digest(rows: Sequence[OutboxEvent]) -> None:
    """Post one message about many new requests, without buttons to decide. Raise NotPosted or ChannelError."""
    to = _target_of(rows[0])
    ids = [row.payload["request_id"] for row in rows]
    waiting = ApprovalRequest.objects.filter(pk__in=ids, status=Status.PENDING)
    in_order = waiting.order_by("urgency", "created_at", "pk")
    requests = [each for each in in_order if _may_see(to, each)]
    if not requests:
        raise NotPosted(_("no longer needed"))
    with override(_language_of(to.person)):
        message = to.messenger.digest(requests)
    to.messenger.post(to.connection, _conversation(to), message)


def _may_see(to: _Target, request: ApprovalRequest) -> bool:
    """Return whether the recipient of a direct message, or all people of a rule for a channel, may see a request."""
    return all_see([to.person] if to.person else audience_of(to.rule), request)


def _card(
    connection: ChannelConnection,
    request: ApprovalRequest,
    shows: str,
    channel_id: str,
    person: User | None,
) -> ChannelMessage:
    """Return the card for a conversation, without its content if not everyone there may see the request."""
    content = content_of(request, shows)
    rules = NotificationRule.objects.filter(
        channel_id=channel_id, route__in=KIND_OF_ROUTE
    )
    people = (
        [person] if person else [each for rule in rules for each in audience_of(rule)]
    )
    seen = all_see(people, request)
    shown = content if seen else hidden(content)
    return MESSENGERS[connection.kind].card(request, shown)


def _conversation(to: _Target) -> str:
    """Return the channel of a rule, or the direct messages with a linked person. Raise NotPosted or ChannelError."""
    if to.person is None:
        return to.rule.channel_id
    accounts = ChannelAccount.objects.filter(connection=to.connection, user=to.person)
    account = accounts.first()
    if account is None:
        raise NotPosted(_("no linked account"))
    return to.messenger.conversation_with(to.connection, account)


def _follow_up(connection: ChannelConnection, card: ChannelCard, name: str) -> None:
    """Say in the thread of a card that its request still waits. Other news are on the card itself."""
    if name not in outbox.FOLLOW_UPS:
        raise NotPosted(_("no longer needed"))
    words = _("Reminder: this request is still waiting.")
    if name == "request.escalated":
        words = _("Escalated: this request is still waiting.")
    _reply(connection, card, words)


def _reply(connection: ChannelConnection, card: ChannelCard, words: str) -> None:
    """Post a line in the thread of a card. Raise ChannelError."""
    messenger = MESSENGERS[connection.kind]
    line = messenger.line(words)
    messenger.post(connection, card.channel_id, line, thread=card.message_ts)


def _rewrite(card: ChannelCard) -> bool:
    """Show the present state of its request on a card, and then its result in the thread."""
    request = whole_requests().filter(pk=card.request_id).first()
    if request is None:
        cards.give_up(card)
        return True
    try:
        with override(_language_of(card.person)):
            _show(card, request)
    except ChannelError as error:
        if error.gone or card.attempts >= cards.MOST_ATTEMPTS:
            cards.give_up(card)
        else:
            cards.try_again(card, error.retry_after)
        return not error.stops
    return True


def _show(card: ChannelCard, request: ApprovalRequest) -> None:
    connection = card.connection
    message = _card(connection, request, card.shows, card.channel_id, card.person)
    if message.look != card.look:
        MESSENGERS[connection.kind].rewrite(
            connection, card.channel_id, card.message_ts, message
        )
    result = results_of([request]).get(request.pk)
    if result is not None and result.at is not None and not card.reported:
        _reply(card.connection, card, result_words(result))
    ended = request.status != Status.PENDING
    cards.card_shown(
        card,
        look=message.look,
        synced_at=request.changed_at,
        ended=ended,
        reported=card.reported or (ended and (result is None or result.at is not None)),
    )


def _send_line(click: ChannelClick) -> bool:
    """Send the line that answers a click to its author alone."""
    messenger = MESSENGERS[click.connection.kind]
    try:
        messenger.reply(click, messenger.line(click.reply, link_for(click)))
    except ChannelError as error:
        if error.passes and click.attempts < MOST_LINES:
            cards.try_again(click, error.retry_after)
        else:
            clicks.reply_sent(click)
        return not error.stops
    clicks.reply_sent(click)
    return True


def link_for(click: ChannelClick) -> str:
    """Return the address at which the author of a click links their account; empty if they need none."""
    if not click.offers:
        return ""
    connection = click.connection
    name = MESSENGERS[connection.kind].name_of(click)
    token = offer_link(connection, click.team_id, click.external_id, name)
    return settings.PUBLIC_URL + reverse(f"{connection.kind}:link", args=[token])


def _language_of(person: User | None) -> str:
    return languages_of([person.pk])[person.pk] if person else settings.LANGUAGE_CODE
