"""Check an answer that a relay has posted, and decide with it, with the rights that the person has then."""

from __future__ import annotations

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.factors import stopped
from approvals.access.standing import standing_of
from approvals.actions.channels import relays
from approvals.actions.channels.links import unlink_account
from approvals.actions.channels.relays import (
    OtherAccount,
    TokenExpired,
    TokenUnknown,
    TokenUsed,
)
from approvals.asking.answers import Answer
from approvals.channels.accounts import actor_of
from approvals.channels.clicks import counted
from approvals.channels.content import ending_of
from approvals.channels.relay.content import answer_key
from approvals.exceptions import FactorMissing, Invalid, NotAllowed
from approvals.forms.decision import sent_decision
from approvals.json_types import JsonDict
from approvals.models import ChannelConnection, RelayMessage
from approvals.models.actors import ChannelActor
from approvals.queries.preferences import in_language_of
from approvals.queries.requests import get_request_for
from approvals.states import Door, Verdict


def answer(connection: ChannelConnection, sent: JsonDict) -> JsonDict:
    """Decide with a checked body of this relay, and return the outcome in words. Raise a Refusal."""
    message = _message_of(connection, sent)
    account = message.account
    if not account.user.is_active:
        unlink_account(account, by=None, via=Door.SYSTEM)
        raise NotAllowed(
            _("Your account in Pausepoint is deactivated. Nothing was decided.")
        )
    with in_language_of(account.user_id):
        _require_fresh(message)
        actor = actor_of(account)
        if stopped({actor.pk}):
            raise FactorMissing
        decision = _answer(message, actor, sent)
        result = relays.decide_by_token(message, decision, by=actor)
        carried = counted(result)
        detail = carried.reply or ending_of(result.request)
        return {"outcome": carried.outcome, "detail": detail}


def _message_of(connection: ChannelConnection, sent: JsonDict) -> RelayMessage:
    """Return the message of a token, if it was made for this relay and account. Raise TokenUnknown or OtherAccount."""
    rows = RelayMessage.objects.select_related("account__user", "account__connection")
    message = rows.filter(
        account__connection=connection, token_digest=relays.digest_of(sent["token"])
    ).first()
    if message is None:
        raise TokenUnknown
    if message.account.external_id != sent["account"]:
        raise OtherAccount
    return message


def _require_fresh(message: RelayMessage) -> None:
    """Raise TokenUsed or TokenExpired; a message that has expired is sent again."""
    if message.answered_at is not None:
        raise TokenUsed
    if message.expires_at is None or message.expires_at <= timezone.now():
        relays.send_again(message)
        raise TokenExpired


def _answer(message: RelayMessage, actor: ChannelActor, sent: JsonDict) -> Answer:
    """Return the answer in a body. Raise Invalid if its message does not offer it, or NotFound."""
    if answer_key(sent) not in message.verdicts:
        words = _("This answer was not offered. Open the request.")
        raise Invalid(words, {"verdict": _("was not offered")})
    verdict = Verdict(sent["verdict"])
    text = sent.get("message", "")
    if verdict != Verdict.RESPOND:
        return Answer(verdict, text)
    request = get_request_for(standing_of(actor), message.request_id)
    form = QueryDict(mutable=True)
    form["verdict"] = verdict
    if "option" in sent:
        form["choice"] = str(sent["option"])
    else:
        form["text"] = text
    return sent_decision(request, form)
