"""Store relays, on record, and the messages that they carry; decide with the token of a message."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.actions.deciding import decide
from approvals.actions.decisions.writes import Outcome
from approvals.actions.logins import SUBJECT
from approvals.asking.answers import Answer
from approvals.exceptions import NotFound, Refusal
from approvals.models import (
    ApprovalRequest,
    ChannelAccount,
    ChannelConnection,
    NotificationRule,
    Relay,
    RelayMessage,
)
from approvals.models.actors import ChannelActor
from approvals.record import audit
from approvals.states import Door, Route

RELAY = ChannelConnection.Kind.RELAY
#: How long the token of a message works; an answer after that renews the message.
VALID_FOR = timedelta(hours=8)


class TokenUnknown(Refusal):
    """The token of an answer is of no message, or of an earlier version of one."""

    code = "token_unknown"
    status = 404
    sentence = gettext_lazy(
        "This message is out of date, so nothing was decided. Answer its newest version."
    )


class OtherAccount(Refusal):
    """The token was made for another account than the one that answers."""

    code = "other_account"
    status = 403
    sentence = gettext_lazy("This message is for someone else. Nothing was decided.")


class TokenUsed(Refusal):
    """The token has decided or voted before."""

    code = "token_used"
    status = 409
    sentence = gettext_lazy(
        "You have answered this already. Open the request to see its state."
    )


class TokenExpired(Refusal):
    """The token is too old; the message is sent again with a new one."""

    code = "token_expired"
    status = 410
    sentence = gettext_lazy(
        "This message was too old, so nothing was decided. It is sent again now."
    )


def new_secret() -> str:
    """Return a new signing secret (Standard Webhooks), to be shown once."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def sealed(secret: str) -> str:
    """Return a signing secret as it is stored."""
    return encrypted(ChannelSecrets(bot_token="", signing_secret=secret))


def described_relay(name: str) -> dict[str, Any] | None:
    """Return a stored relay as changes and the record show it, without its secret."""
    relay = Relay.objects.filter(connection__team_id=name, connection__kind=RELAY)
    described = relay.values("address", "shows", "up_to").first()
    return None if described is None else {"name": name, **described}


def write_relay(stored: Mapping[str, Any], *, by: User, via: Door) -> None:
    """Store a relay, on record; a `secret` among its values replaces the former one at once."""
    name = stored["name"]
    with transaction.atomic():
        known = {"kind": RELAY, "team_id": name}
        secret = {"secret": stored["secret"]} if "secret" in stored else {}
        connection, _new = ChannelConnection.objects.update_or_create(
            **known, defaults={"team_name": name, "problem": "", **secret}
        )
        values = {key: stored[key] for key in ("address", "shows", "up_to")}
        Relay.objects.update_or_create(connection=connection, defaults=values)
        RelayMessage.objects.filter(account__connection=connection).update(
            synced_at=None, attempts=0, next_attempt_at=Now()
        )
        _record("connected", {"name": name, **values}, by, via)


def rotate_secret(name: str, *, by: User, via: Door) -> str:
    """Replace the signing secret of a relay, and return the new one. Raise NotFound."""
    secret = new_secret()
    with transaction.atomic():
        rows = ChannelConnection.objects.filter(kind=RELAY, team_id=name)
        if not rows.update(secret=sealed(secret), problem=""):
            raise _unknown()
        _record("secret rotated", {"name": name}, by, via)
    return secret


def remove_relay(name: str, *, by: User, via: Door) -> None:
    """Remove a relay with its links and messages, on record, and switch its rules off. Raise NotFound."""
    with transaction.atomic():
        before = described_relay(name)
        if before is None:
            raise _unknown()
        connections = ChannelConnection.objects.filter(kind=RELAY, team_id=name)
        rules = NotificationRule.objects.filter(route=Route.RELAY)
        rules.filter(relay__in=connections).update(active=False)
        connections.delete()
        _record("disconnected", before, by, via)


def open_message(account: ChannelAccount, request: ApprovalRequest) -> RelayMessage:
    """Return the message that shows a request to this account, new if there is none."""
    message, _new = RelayMessage.objects.get_or_create(account=account, request=request)
    return message


def renew(
    message: RelayMessage, verdicts: Sequence[str], digest: str, *, ended: bool
) -> str:
    """Count a new revision, and return its token; empty if it offers no answers. The former token no longer works.

    After the end, the former one is still known, so that late answers can be told the decision.
    """
    token = secrets.token_urlsafe(32) if verdicts else ""
    message.revision += 1
    values: dict[str, Any] = {"revision": F("revision") + 1}
    if token:
        values |= {
            "token_digest": digest_of(token),
            "shown_digest": digest,
            "verdicts": list(verdicts),
            "expires_at": Now() + VALID_FOR,
            "answered_at": None,
        }
    elif not ended:
        values |= {"token_digest": ""}
    RelayMessage.objects.filter(pk=message.pk).update(**values)
    return token


def message_shown(
    message: RelayMessage, *, look: str, synced_at: datetime, ended: bool
) -> None:
    """Store the state that a relay has taken. The message stays due if it was to be looked at again meanwhile."""
    shown = RelayMessage.objects.filter(pk=message.pk)
    shown.update(look=look, ended=ended)
    shown.filter(attempts=message.attempts).update(
        synced_at=synced_at, attempts=0, next_attempt_at=Now()
    )


def give_up(message: RelayMessage) -> None:
    """Leave a message as it is, because the relay cannot show it any more."""
    RelayMessage.objects.filter(pk=message.pk).update(ended=True, synced_at=Now())


def send_again(message: RelayMessage) -> None:
    """Let a message be sent again with a new token."""
    RelayMessage.objects.filter(pk=message.pk).update(
        look="", synced_at=None, attempts=0, next_attempt_at=Now()
    )


def decide_by_token(
    message: RelayMessage, answer: Answer, *, by: ChannelActor
) -> Outcome:
    """Use the token of a message up and decide, in one transaction. Raise TokenUsed, or what `decide` raises.

    After a refusal, the token still works: nothing was decided with it.
    """
    with transaction.atomic():
        unused = RelayMessage.objects.filter(
            pk=message.pk,
            token_digest=message.token_digest,
            answered_at=None,
            expires_at__gt=Now(),
        )
        if not unused.update(answered_at=Now()):
            raise TokenUsed
        return decide(
            message.request_id,
            answer,
            by=by,
            via=Door.RELAY,
            shown_digest=message.shown_digest,
        )


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _unknown() -> NotFound:
    return NotFound(_("Relay not found. Someone may have removed it."))


def _record(change: str, stored: Mapping[str, Any], by: User, via: Door) -> None:
    data = {"change": change, "kind": RELAY.value, **stored}
    if "address" in data:
        # Without the query string, which may hold a secret of the relay.
        data["address"] = data["address"].partition("?")[0]
    audit.record("channel.changed", SUBJECT, data=data, actor=by, via=via)
