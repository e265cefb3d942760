"""Carry out stored clicks: each ends in the one decision path, with the rights that its author has then."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.access.factors import stopped
from approvals.access.standing import standing_of
from approvals.actions import Outcome, decide
from approvals.actions.channels import cards, clicks
from approvals.actions.channels.links import unlink_account
from approvals.asking.answers import Answer
from approvals.channels.accounts import account_behind, actor_of
from approvals.channels.content import ending_of
from approvals.channels.grants import terms_from
from approvals.db import pool
from approvals.exceptions import (
    AlreadyDecided,
    Changed,
    Expired,
    FactorMissing,
    Refusal,
)
from approvals.forms.decision import sent_decision
from approvals.models import ChannelAccount, ChannelClick
from approvals.models.actors import ChannelActor
from approvals.pages.grants.panel import granting_of
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.queries.preferences import in_language_of
from approvals.queries.requests import get_request_for
from approvals.states import Door, Verdict

logger = logging.getLogger(__name__)

BATCH = 50
#: A click that failed this often is answered with an error.
MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Carried:
    """The outcome of a click, and the line that answers it; empty if the card says it all."""

    outcome: str
    reply: str = ""
    offers: bool = False


def due_clicks(now: Any) -> QuerySet[ChannelClick]:
    """Return the stored clicks to carry out."""
    return ChannelClick.objects.filter(done_at=None, next_attempt_at__lte=now)


def carry_out(click: ChannelClick) -> None:
    """Carry out one click that this process has claimed, and store its outcome."""
    try:
        carried = _carried(click)
    except pool.AWAY:
        raise
    except Exception:
        logger.exception("Click %s could not be carried out", click.pk)
        if click.attempts < MOST_ATTEMPTS:
            cards.try_again(click)
            return
        words = _("This did not work, so nothing was decided. Open the request.")
        carried = Carried("failed", words)
    clicks.finish_click(click, carried.outcome, carried.reply, offers=carried.offers)


def _carried(click: ChannelClick) -> Carried:
    account = account_behind(click.connection, click.team_id, click.external_id)
    if account is None:
        words = _("Link this account with yours in Pausepoint once, then click again.")
        return Carried("unlinked", words, offers=True)
    if not account.user.is_active:
        unlink_account(account, by=None, via=Door.SYSTEM)
        words = _("Your account in Pausepoint is deactivated. Nothing was decided.")
        return Carried("inactive", words)
    with in_language_of(account.user_id):
        return _carried_for(click, account)


def _carried_for(click: ChannelClick, account: ChannelAccount) -> Carried:
    data = click.data
    if data["action"] == "link":
        words = _("Your account is linked to %(name)s in Pausepoint.")
        return Carried("linked", words % {"name": account.user.get_username()})
    actor = actor_of(account)
    try:
        if stopped({actor.pk}):
            raise FactorMissing
        answer = _answer(actor, data)
        if answer is None:
            return _unopened(actor, data)
        result = decide(
            UUID(data["request"]),
            answer,
            by=actor,
            via=Door(click.connection.kind),
            shown_digest=data["digest"],
        )
    except Refusal as refusal:
        return _refused(click, refusal)
    # A card that was posted without being stored is kept up to date from now on.
    cards.adopt_card(
        click.connection, result.request, click.channel_id, click.message_ts
    )
    return counted(result)


def _answer(actor: ChannelActor, data: Mapping[str, Any]) -> Answer | None:
    """Return the answer of a click; None if it still needs a dialog. Raise NotFound or Invalid."""
    comment = data.get("comment")
    match data["action"]:
        case "approve":
            return Answer(Verdict.APPROVE, comment or "")
        case "give" if "terms" in data:
            return Answer(
                Verdict.APPROVE, comment or "", grant=terms_from(data["terms"])
            )
        case "reject" if comment is not None:
            return Answer(Verdict.REJECT, comment)
        case "edit" if "edited_input" in data:
            return Answer(Verdict.EDIT, comment or "", data["edited_input"])
        case "answer" if "answer" in data:
            return Answer(Verdict.RESPOND, answer=data["answer"])
        case "option":
            request = get_request_for(standing_of(actor), UUID(data["request"]))
            form = QueryDict(mutable=True)
            form["verdict"] = Verdict.RESPOND
            form["choice"] = str(data["option"])
            return sent_decision(request, form)
        case _:
            return None


def _unopened(actor: ChannelActor, data: Mapping[str, Any]) -> Carried:
    """Return why a click or a dialog was not carried out. Raise NotFound or Changed."""
    request = get_request_for(standing_of(actor), UUID(data["request"]))
    if not request.pending:
        return Carried("already_decided", ending_of(request))
    if data["digest"] != request.voted_digest:
        raise Changed(request.voted_digest)
    words = _("This cannot be answered here. Nothing was decided. Open the request.")
    if data["action"] == "grant":
        why_not = granting_of(standing_of(actor), request).why_not
        words = f"{why_not} {words}".strip()
    return Carried("not_opened", words)


def _refused(click: ChannelClick, refusal: Refusal) -> Carried:
    if isinstance(refusal, AlreadyDecided | Expired):
        cards.adopt_card(
            click.connection,
            refusal.decision.request,
            click.channel_id,
            click.message_ts,
        )
    return Carried(refusal.code, str(refusal))


def counted(result: Outcome) -> Carried:
    """Return the outcome of a decision or a vote, and what its author should read about it."""
    if result.decision is not None:
        return Carried("repeated" if result.replayed else "decided")
    ballot = ballot_of(result.request)
    words = _("Your vote is counted.")
    votes = _("Votes: %(progress)s") % {"progress": ballot.words} if ballot else ""
    return Carried("voted", f"{words} {votes}".strip())
