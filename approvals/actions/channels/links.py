"""Link people's accounts in a channel with their accounts here, on record."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from secrets import token_urlsafe

from django.contrib.auth.models import User
from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from approvals.actions.logins import SUBJECT
from approvals.exceptions import Conflict, NotFound
from approvals.models import ChannelAccount, ChannelConnection, ChannelLinkOffer
from approvals.models.actors import Signatory
from approvals.record import audit
from approvals.states import Door

_SALT = "approvals.channel-link"
VALID_FOR = timedelta(minutes=10)


def offer_link(
    connection: ChannelConnection, team_id: str, external_id: str, name: str
) -> str:
    """Return the token of a link for this account in the channel; its earlier links no longer work."""
    nonce = token_urlsafe(24)
    with transaction.atomic():
        mine = {
            "connection": connection,
            "team_id": team_id,
            "external_id": external_id,
        }
        ChannelLinkOffer.objects.filter(**mine).delete()
        ChannelLinkOffer.objects.create(
            **mine,
            name=name[:200],
            token_digest=_digest(nonce),
            expires_at=Now() + VALID_FOR,
        )
    return signing.dumps(nonce, salt=_SALT)


def offer_of(token: str) -> ChannelLinkOffer:
    """Return the offer of a link. Raise NotFound if it was used, replaced or has expired."""
    gone = NotFound(
        _("This link was used or has expired. Ask for a new one where you got it.")
    )
    try:
        nonce = signing.loads(token, salt=_SALT, max_age=VALID_FOR)
    except signing.BadSignature as error:
        raise gone from error
    offer = (
        ChannelLinkOffer.objects.select_related("connection")
        .filter(token_digest=_digest(nonce), expires_at__gt=Now())
        .first()
    )
    if offer is None:
        raise gone
    return offer


def link_account(token: str, *, by: User) -> ChannelAccount:
    """Link the account that a link is for with this person's, and use the link up. Raise NotFound or Conflict."""
    with transaction.atomic():
        offer = offer_of(token)
        channel = offer.connection.label
        if not ChannelLinkOffer.objects.filter(pk=offer.pk).delete()[0]:
            # Another tab was faster.
            raise NotFound(_("This link was used already."))
        theirs = ChannelAccount.objects.filter(
            connection=offer.connection,
            team_id=offer.team_id,
            external_id=offer.external_id,
        ).first()
        if theirs is not None and theirs.user_id == by.pk:
            return theirs
        if theirs is not None:
            raise Conflict(
                _(
                    "This account in %(channel)s is linked to someone else. They or an administrator must remove that link first."
                )
                % {"channel": channel}
            )
        account = ChannelAccount(
            connection=offer.connection,
            team_id=offer.team_id,
            external_id=offer.external_id,
            name=offer.name,
            user=by,
        )
        try:
            with transaction.atomic():
                account.save(force_insert=True)
        except IntegrityError as error:
            raise Conflict(
                _(
                    "Another account in %(channel)s is linked to yours. Remove that link first."
                )
                % {"channel": channel}
            ) from error
        _record("account.linked", account, by=by, via=Door.DASHBOARD)
    return account


def unlink_account(account: ChannelAccount, *, by: Signatory | None, via: Door) -> None:
    """Remove a link, on record."""
    with transaction.atomic():
        if ChannelAccount.objects.filter(pk=account.pk).delete()[0]:
            _record("account.unlinked", account, by=by, via=via)


def unlink_person(person: User, *, by: Signatory, via: Door) -> None:
    """Remove the links of a person whose account ends, on record."""
    rows = ChannelAccount.objects.select_related("connection", "user")
    for account in rows.filter(user=person):
        unlink_account(account, by=by, via=via)


def _record(
    event: str, account: ChannelAccount, *, by: Signatory | None, via: Door
) -> None:
    person = account.user
    data = {
        "user": person.get_username(),
        "user_id": person.pk,
        "account": account.recorded,
    }
    audit.record(event, SUBJECT, data=data, actor=by, via=via)


def _digest(nonce: str) -> str:
    return hashlib.sha256(nonce.encode()).hexdigest()
