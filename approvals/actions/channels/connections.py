"""Store and remove the connection of a channel, on record, and note its last problem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cryptography.fernet import InvalidToken
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from approvals.access.providers import decrypt_secret, encrypt_secret
from approvals.actions.logins import SUBJECT
from approvals.models import ChannelConnection, ChannelIssuer, NotificationRule
from approvals.models.channels import SocketState
from approvals.outbound.outbox import undelivered_events
from approvals.record import audit
from approvals.states import KIND_OF_ROUTE, Channel, Door

#: The columns of a connection that changes and the record show.
FIELDS = ("kind", "app_id", "team_id", "team_name", "bot_id")


@dataclass(frozen=True, slots=True)
class ChannelSecrets:
    """The secrets of a connection, as far as its kind has them; `app_token` is for Slack's Socket Mode."""

    bot_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    client_secret: str = field(default="", repr=False)


def encrypted(secrets: ChannelSecrets) -> str:
    return encrypt_secret(json.dumps(asdict(secrets)))


def secrets_of(connection: ChannelConnection) -> ChannelSecrets | None:
    """Return the tokens of a connection; None if SECRET_KEY has changed since they were stored."""
    try:
        text = decrypt_secret(connection.secret)
    except InvalidToken:
        return None
    return ChannelSecrets(**json.loads(text))


def described_connection(kind: str) -> dict[str, Any] | None:
    """Return a stored connection as changes and the record show it, without its tokens."""
    rows = ChannelConnection.objects.filter(kind=kind)
    described: dict[str, Any] | None = rows.values(*FIELDS).first()
    return described


def write_connection(stored: Mapping[str, Any], *, by: User, via: Door) -> None:
    """Store a connection, on record. Accounts, cards and clicks of another workspace or app are forgotten."""
    with transaction.atomic():
        kind = stored["kind"]
        before = described_connection(kind)
        if before is not None and before["team_id"] != stored["team_id"]:
            ChannelConnection.objects.filter(kind=kind).delete()
        values = {name: stored[name] for name in FIELDS} | {"secret": stored["secret"]}
        cleared = {"problem": "", "problem_in": "", "problem_at": None}
        connection, _new = ChannelConnection.objects.update_or_create(
            kind=kind, defaults=values | cleared | {"connected_at": Now()}
        )
        _restart_socket(connection)
        _store_issuers(connection, stored.get("issuers", {}))
        # Calls that failed with the former token are due at once.
        connection.cards.update(next_attempt_at=Now())
        undelivered_events(Channel.CARD).update(next_attempt_at=Now())
        _record("connected", stored, by, via)


def _restart_socket(connection: ChannelConnection) -> None:
    """Let a process hold the outgoing connection with the new tokens, if there is an app token."""
    secrets = secrets_of(connection)
    outgoing = secrets is not None and secrets.app_token
    ChannelConnection.objects.filter(pk=connection.pk).update(
        socket_state=SocketState.LOST if outgoing else SocketState.OFF,
        socket_holder="",
        socket_until=None,
        socket_problem="",
    )


def _store_issuers(connection: ChannelConnection, issuers: Mapping[str, str]) -> None:
    """Store the issuers of the tokens with which a channel calls, by name with the addresses of their keys."""
    connection.issuers.all().delete()
    ChannelIssuer.objects.bulk_create(
        ChannelIssuer(connection=connection, issuer=issuer, keys_url=url)
        for issuer, url in issuers.items()
    )


def remove_connection(kind: str, *, by: User, via: Door) -> None:
    """Remove a connection with its links, cards and clicks, on record, and switch the rules that need it off."""
    with transaction.atomic():
        before = described_connection(kind)
        if before is None:
            return
        routes = [route for route, of in KIND_OF_ROUTE.items() if of == kind]
        NotificationRule.objects.filter(route__in=routes).update(active=False)
        ChannelConnection.objects.filter(kind=kind).delete()
        _record("disconnected", before, by, via)


def note_problem(connection: ChannelConnection, code: str, about: str = "") -> None:
    """Store the code of a refused call and the conversation that it was about, or that calls succeed again (an empty code)."""
    code = code[:80]
    same = connection.problem == code and connection.problem_in == about
    # A call about one conversation says nothing about another.
    other = not code and connection.problem_in not in {"", about}
    if same or other or not (code or connection.problem):
        return
    ChannelConnection.objects.filter(pk=connection.pk).update(
        problem=code,
        problem_in=about if code else "",
        problem_at=Now() if code else None,
    )


def _record(change: str, stored: Mapping[str, Any], by: User, via: Door) -> None:
    data = {"change": change, **{name: stored[name] for name in FIELDS}}
    audit.record("channel.changed", SUBJECT, data=data, actor=by, via=via)
