"""Answer a verified activity of Teams: store a click, carry it out, and show its author the outcome."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django.utils.translation import gettext as _

from approvals.access.standing import Standing, standing_of
from approvals.actions.channels import cards, clicks
from approvals.channels.accounts import account_behind
from approvals.channels.clicks import carry_out
from approvals.channels.dialogs import (
    WITH_FIELDS,
    checked_message,
    errors_by_field,
    open_request,
    value_in,
)
from approvals.channels.messenger import ChannelMessage
from approvals.channels.posting import card_message, link_for, still_shows
from approvals.channels.teams.activities import CardClick, parse_click
from approvals.channels.teams.cards import (
    execute,
    input_id,
    message,
    open_url,
    shown_fields,
    text,
)
from approvals.channels.teams.messenger import CARD_TYPE
from approvals.exceptions import Invalid
from approvals.forms.fields import FormControl, Widget
from approvals.json_types import JsonDict
from approvals.models import ChannelCard, ChannelClick, ChannelConnection
from approvals.queries.preferences import in_language_of
from approvals.queries.requests import whole_requests
from approvals.states import Door

MESSAGE_TYPE = "application/vnd.microsoft.activity.message"


def receive(connection: ChannelConnection, activity: object) -> JsonDict:
    """Take a verified activity, and return the answer. Raise MalformedActivity or ForeignActivity."""
    click = parse_click(activity, connection)
    if click is None:
        return {}
    account = account_behind(connection, click.team_id, click.external_id)
    person = account.user if account is not None and account.user.is_active else None
    with in_language_of(person.pk) if person else nullcontext():
        if click.action == "look":
            return _shown(_card_of(connection, click))
        try:
            values = _values(click, standing_of(person)) if person else {}
        except Invalid as refusal:
            return _words(str(refusal))
        return _answered(_carried(connection, click, values), click)


def _values(click: CardClick, standing: Standing) -> dict[str, Any]:
    """Return the message and the values that were entered, as the page's form would send them. Raise Invalid."""
    values: dict[str, Any] = {}
    comment = click.entered.get(input_id(click.action))
    if comment is not None:
        values["comment"] = checked_message(comment)
    if click.action not in WITH_FIELDS or click.request_id is None:
        return values
    request = open_request(click.request_id, click.digest, standing)
    fields = None if request is None else shown_fields(request, click.action)
    if request is None or fields is None:
        return values
    entered = [_texts(click, field, number) for number, field in enumerate(fields)]
    try:
        name, value = value_in(request, click.action, fields, entered, Door.TEAMS)
    except Invalid as refusal:
        errors = errors_by_field(click.action, fields, refusal)
        lines = [f"{fields[number].label}: {error}" for number, error in errors.items()]
        raise Invalid("\n".join(lines)) from refusal
    return {**values, name: value}


def _texts(click: CardClick, field: FormControl, number: int) -> list[str]:
    """Return the values of a field; nothing if it is empty, as the page's choices are."""
    entered = click.entered.get(input_id(click.action, number), "")
    if field.widget == Widget.SEVERAL:
        return [place for place in entered.split(",") if place]
    return [entered] if entered else []


def _carried(
    connection: ChannelConnection, click: CardClick, values: dict[str, Any]
) -> ChannelClick:
    """Store a click, and carry it out unless another process is faster. If this one ends before, the sweep does it."""
    data: dict[str, Any] = {"action": click.action, "name": click.name, **values}
    if click.request_id is not None:
        data |= {"request": str(click.request_id), "digest": click.digest}
    if click.action == "option":
        data["option"] = click.option
    new = clicks.NewClick(
        key=click.key,
        team_id=click.team_id,
        external_id=click.external_id,
        channel_id=click.channel_id,
        message_ts=click.message_id,
        data=data,
    )
    clicks.store_click(connection, new)
    rows = ChannelClick.objects.select_related("connection").filter(key=click.key)
    row = rows.get()
    if row.done_at is None and cards.claim(row):
        carry_out(row)
    return rows.get()


def _answered(row: ChannelClick, click: CardClick) -> JsonDict:
    """Return the answer to a click, which its author alone sees. A line in it needs not be sent again."""
    if row.done_at is None:
        return _words(_("Your click is stored. Pausepoint carries it out in a moment."))
    if not row.reply:
        return _shown(_card_of(row.connection, click))
    clicks.reply_sent(row)
    if not row.offers:
        return _words(row.reply)
    buttons = [open_url(_("Link my account"), link_for(row))]
    if click.request_id is not None:
        buttons.append(execute("look", _("Show the request"), {}))
    return _shown(message(row.reply, [text(row.reply)], buttons))


def _card_of(connection: ChannelConnection, click: CardClick) -> ChannelMessage | None:
    """Return the present state of the card that was clicked; None if it is none of ours."""
    stored = ChannelCard.objects.filter(
        connection=connection,
        channel_id=click.channel_id,
        message_ts=click.message_id,
    ).first()
    request = whole_requests().filter(pk=stored.request_id).first() if stored else None
    if stored is None or request is None:
        return None
    seen = still_shows(stored, request)
    return card_message(connection, request, stored.shows, seen=seen)


def _shown(card: ChannelMessage | None) -> JsonDict:
    if card is None:
        return _words(_("Open the request to see it."))
    return {"statusCode": 200, "type": CARD_TYPE, "value": card.body}


def _words(words: str) -> JsonDict:
    return {"statusCode": 200, "type": MESSAGE_TYPE, "value": words}
