"""Post cards, rewrite them when their requests change, and send the lines that answer clicks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from approvals.actions.channels import cards, clicks
from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.actions.channels.links import offer_link
from approvals.channels.content import content_of, hidden, result_words
from approvals.channels.slack import blocks, web_api
from approvals.channels.slack.web_api import SlackError
from approvals.json_types import JsonDict
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
from approvals.outbound.messages import plain
from approvals.outbound.direct import CARDS
from approvals.outbound.recipients import all_see, audience_of
from approvals.queries.preferences import languages_of
from approvals.queries.requests import whole_requests
from approvals.queries.results import results_of
from approvals.record.events import RESULTS
from approvals.states import Channel, Route, Status

LEASE = timedelta(minutes=1)
#: More new requests for one conversation at a time become one message without buttons.
FLOOD = 10
#: How long the thread of an approved request may still hear its result.
TELLS_FOR = timedelta(days=1)
#: How often a line to a clicker is tried.
MOST_LINES = 4
#: Codes after which a card cannot be rewritten.
GONE = frozenset(
    {"message_not_found", "channel_not_found", "is_archived", "is_inactive"}
    | {"cant_update_message", "edit_window_closed"}
)


class NotPosted(Exception):
    """Nothing has to be posted; the message says why."""


def due_jobs(shut: Iterable[str]) -> list[Job]:
    """Return the due calls of Slack: lines to clickers first, then cards to rewrite, then new cards."""
    if CARDS in set(shut):
        return []
    lines = list(due_lines(Now()).select_related("connection")[: outbox.BATCH])
    known = due_cards(Now()).select_related("connection")
    stale = list(known.order_by("ended", "next_attempt_at")[: outbox.BATCH])
    return [
        *(_job(line, _send_line) for line in lines),
        *(_job(card, _rewrite) for card in stale),
        *(_post_job(rows) for rows in _new_messages()),
    ]


def _new_messages() -> list[list[OutboxEvent]]:
    """Return the due rows by message: one card each, unless there are too many for one conversation."""
    due = outbox.due_events(Now(), Channel.CARD).order_by("pk")[: outbox.BATCH]
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
    return Job(CARDS, lambda: cards.claim(row), lambda: work(row))


def _post_job(rows: list[OutboxEvent]) -> Job:
    claimed: list[OutboxEvent] = []

    def claim() -> bool:
        claimed.extend(row for row in rows if outbox.claim_event(row, LEASE))
        return bool(claimed)

    return Job(CARDS, claim, lambda: _post(claimed))


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


def call(
    connection: ChannelConnection, method: str, about: str = "", **arguments: Any
) -> JsonDict:
    """Call a method with the bot's token, and note the state of the connection. Raise SlackError."""
    secrets = secrets_of(connection)
    if secrets is None:
        note_problem(connection, "secret_key_changed")
        raise SlackError("secret_key_changed")
    connections.close_all()  # No database connection is held during the network call.
    try:
        body = web_api.call(secrets.bot_token, method, **arguments)
    except SlackError as error:
        note_problem(connection, error.code, about)
        raise
    note_problem(connection, "", about)
    return body


def post_message(
    connection: ChannelConnection,
    channel_id: str,
    message: blocks.SlackMessage,
    **more: Any,
) -> str:
    """Post a message, and return its timestamp, which identifies it. Raise SlackError."""
    body = call(
        connection,
        "chat.postMessage",
        about=channel_id,
        channel=channel_id,
        text=message.text,
        blocks=message.blocks,
        unfurl_links=False,
        unfurl_media=False,
        **more,
    )
    return str(body.get("ts", ""))


def _post(rows: Sequence[OutboxEvent]) -> bool:
    """Post the card of an outbox row, or one message for many rows; return False if Slack could not be reached."""
    try:
        if len(rows) > 1:
            _post_digest(rows)
        else:
            _post_card(rows[0])
    except NotPosted as reason:
        outbox.mark_delivered(*rows, note=str(reason))
    except SlackError as error:
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


def _target_of(row: OutboxEvent) -> _Target:
    """Return where a row is posted. Raise NotPosted."""
    _prefix, rule_id, *person_id = row.target.split(":")
    rules = NotificationRule.objects.filter(active=True, route=Route.BUTTONS)
    rule = rules.filter(pk=rule_id).first()
    connection = ChannelConnection.objects.filter(
        kind=ChannelConnection.Kind.SLACK
    ).first()
    people = User.objects.filter(pk__in=person_id, is_active=True)
    person = people.first() if person_id else None
    if rule is None or connection is None or (person_id and person is None):
        raise NotPosted(_("no longer needed"))
    return _Target(connection, rule, person)


def _post_card(row: OutboxEvent) -> None:
    """Post the card, or a line in the thread of the card that is there. Raise NotPosted or SlackError."""
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
        message = _card(request, to.rule.shows, channel_id, to.person)
    message_ts = post_message(to.connection, channel_id, message)
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
    """Post one message about many new requests, without buttons to decide. Raise NotPosted or SlackError."""
    to = _target_of(rows[0])
    ids = [row.payload["request_id"] for row in rows]
    waiting = ApprovalRequest.objects.filter(pk__in=ids, status=Status.PENDING)
    in_order = waiting.order_by("urgency", "created_at", "pk")
    requests = [each for each in in_order if _may_see(to, each)]
    if not requests:
        raise NotPosted(_("no longer needed"))
    with override(_language_of(to.person)):
        message = blocks.digest(requests)
    post_message(to.connection, _conversation(to), message)


def _may_see(to: _Target, request: ApprovalRequest) -> bool:
    """Return whether the recipient of a direct message, or all people of a rule for a channel, may see a request."""
    return all_see([to.person] if to.person else audience_of(to.rule), request)


def _card(
    request: ApprovalRequest, shows: str, channel_id: str, person: User | None
) -> blocks.SlackMessage:
    """Return the card for a conversation, without its content if not everyone there may see the request."""
    content = content_of(request, shows)
    rules = NotificationRule.objects.filter(channel_id=channel_id, route=Route.BUTTONS)
    people = (
        [person] if person else [each for rule in rules for each in audience_of(rule)]
    )
    seen = all_see(people, request)
    return blocks.card(request, content if seen else hidden(content))


def _conversation(to: _Target) -> str:
    """Return the channel of a rule, or the direct messages with a linked person. Raise NotPosted or SlackError."""
    if to.person is None:
        return to.rule.channel_id
    accounts = ChannelAccount.objects.filter(connection=to.connection, user=to.person)
    account = accounts.first()
    if account is None:
        raise NotPosted(_("no linked account"))
    body = call(to.connection, "conversations.open", users=account.external_id)
    channel = body.get("channel")
    return str(channel.get("id", "")) if isinstance(channel, dict) else ""


def _follow_up(connection: ChannelConnection, card: ChannelCard, name: str) -> None:
    """Say in the thread of a card that its request still waits. Other news are on the card itself."""
    if name not in outbox.FOLLOW_UPS:
        raise NotPosted(_("no longer needed"))
    words = _("Reminder: this request is still waiting.")
    if name == "request.escalated":
        words = _("Escalated: this request is still waiting.")
    _reply(connection, card, words)


def _reply(connection: ChannelConnection, card: ChannelCard, words: str) -> None:
    """Post a line in the thread of a card. Raise SlackError."""
    line = blocks.SlackMessage(plain(words), [blocks.section(words)])
    post_message(connection, card.channel_id, line, thread_ts=card.message_ts)


def _rewrite(card: ChannelCard) -> bool:
    """Show the present state of its request on a card, and then its result in the thread."""
    request = whole_requests().filter(pk=card.request_id).first()
    if request is None:
        cards.give_up(card)
        return True
    try:
        with override(_language_of(card.person)):
            _show(card, request)
    except SlackError as error:
        if error.code in GONE or card.attempts >= cards.MOST_ATTEMPTS:
            cards.give_up(card)
        else:
            cards.try_again(card, error.retry_after)
        return not error.stops
    return True


def _show(card: ChannelCard, request: ApprovalRequest) -> None:
    message = _card(request, card.shows, card.channel_id, card.person)
    if message.look != card.look:
        call(
            card.connection,
            "chat.update",
            about=card.channel_id,
            channel=card.channel_id,
            ts=card.message_ts,
            text=message.text,
            blocks=message.blocks,
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
    token = ""
    if click.offers:
        name = _name_of(click)
        token = offer_link(click.connection, click.team_id, click.external_id, name)
    path = reverse("slack:link", args=[token]) if token else ""
    message = blocks.line(click.reply, settings.PUBLIC_URL + path if path else "")
    try:
        call(
            click.connection,
            "chat.postEphemeral",
            about=click.channel_id,
            channel=click.channel_id,
            user=click.external_id,
            text=message.text,
            blocks=message.blocks,
        )
    except SlackError as error:
        if error.passes and click.attempts < MOST_LINES:
            cards.try_again(click, error.retry_after)
        else:
            clicks.reply_sent(click)
        return not error.stops
    clicks.reply_sent(click)
    return True


def _name_of(click: ChannelClick) -> str:
    """Return the name that Slack shows for the author of a click; empty if it does not say."""
    try:
        body = call(click.connection, "users.info", user=click.external_id)
    except SlackError:
        return ""
    user = body.get("user")
    profile = user.get("profile") if isinstance(user, dict) else None
    names = profile if isinstance(profile, dict) else {}
    shown = [names.get(name) for name in ("display_name", "real_name")]
    return next((name for name in shown if isinstance(name, str) and name), "")


def _language_of(person: User | None) -> str:
    return languages_of([person.pk])[person.pk] if person else settings.LANGUAGE_CODE
