"""The page of a request around its card: key fields, earlier decisions, and suggested messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access.standing import Standing
from approvals.asking.secrets import masked_input
from approvals.models import Absence, Advice, ApprovalRequest, ToolSettings
from approvals.pages.cards import Card
from approvals.pages.key_fields import key_values, read_beginning
from approvals.policy.terms import terms_of
from approvals.queries.attention.advice import advice_on
from approvals.queries.policy.absence import away_from
from approvals.queries.policy.rules.policy_versions import (
    key_fields_under,
    rules_asked_under,
)
from approvals.queries.precedents import Precedents, precedents_of
from approvals.queries.preferences import settings_of_tools, strict_priorities
from approvals.queries.suggestions import last_messages
from approvals.shown.requests import (
    ShownDecision,
    ShownRequest,
    shown_decision,
    shown_heading,
)
from approvals.states import Kind
from approvals.text.secrets import mask_text

#: How many messages are suggested, prepared ones first, and their maximum length.
MAX_OFFERS = 12
MAX_OFFER = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """An earlier request of the same tool, with its key fields as approved; `same` if all its values are equal."""

    pk: UUID
    kind: str
    status: str
    title: str
    address: str
    changed_at: datetime
    decided_display: str | None
    decision: ShownDecision
    rule: str | None
    policy_version: int | None
    repeats: UUID | None
    same: bool
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOutcomes:
    """Counts of earlier requests by outcome."""

    counts: Sequence[tuple[str, int]]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The variable `detail` of `approvals/request/page.html`. `offers` are messages that fill the field when pressed."""

    key_values: Sequence[tuple[str, str]]
    precedents: PastOutcomes | None
    earlier: Sequence[Past]
    #: The id and label of each tab, and the id of the one that is open at first.
    tabs: Sequence[tuple[str, str]]
    opened: str
    offers: Sequence[str]
    #: Programs' advice with its text, in which likely keys are masked.
    advice: Sequence[tuple[Advice, str]]
    reason_required: bool
    #: Messages to people in the rules that apply to it.
    rule_messages: Sequence[str]
    #: The absences of people that it waits for, with their delegates.
    away: Sequence[Absence]


def detail_of(
    user: User, viewer: Standing, request: ApprovalRequest, card: Card
) -> Detail:
    """Return the surroundings of the card of a request on its page, for one person."""
    shown = card.request
    settings = settings_of_tools({request.tool_name}).get(request.tool_name)
    rules = rules_asked_under(request)
    shown_first = key_fields_under(rules, settings)
    decides = card.may_close and request.kind == Kind.APPROVAL
    precedents = precedents_of(viewer, request)
    asks = card.about.asks
    # Where there are buttons to approve it, the advice is beside them.
    advised = bool(request.advised) and (asks or not card.may_close)
    tabs = _tabs(shown, precedents, advised=advised)
    # Earlier requests of the tool are not read with their schemas.
    schema = None if asks else request.response_schema
    return Detail(
        key_values=key_values(shown.input, shown_first, request.tool_name, schema)
        if card.may_close and not asks
        else (),
        precedents=PastOutcomes(counts=precedents.counts, total=precedents.total)
        if precedents
        else None,
        earlier=[
            _past(
                past,
                key_values(
                    masked_input(past, read_beginning(past.gist)),
                    shown_first,
                    past.tool_name,
                    schema,
                ),
                same=past.pk in precedents.same,
            )
            for past in precedents.listed
        ]
        if precedents
        else (),
        tabs=tabs,
        # The notes stay closed until someone opens them.
        opened=tabs[0][0] if tabs[0][0] != "notes" else "",
        offers=_offers(user, request.tool_name, settings) if decides else (),
        advice=[(advice, mask_text(advice.text)) for advice in advice_on(request)],
        reason_required=decides and _needs_reason(request, settings),
        rule_messages=[rule.message for rule in rules if rule.message],
        away=away_from(request) if request.pending else (),
    )


def _past(
    request: ApprovalRequest, values: Sequence[tuple[str, str]], *, same: bool
) -> Past:
    heading = shown_heading(request)
    return Past(
        pk=heading.pk,
        kind=heading.kind,
        status=heading.status,
        title=heading.title,
        address=heading.address,
        changed_at=heading.changed_at,
        decided_display=request.decided_display,
        decision=shown_decision(request, request.decision),
        rule=request.rule,
        policy_version=request.policy_version,
        repeats=request.repeats,
        same=same,
        values=values,
    )


def _tabs(
    request: ShownRequest, precedents: Precedents | None, *, advised: bool
) -> list[tuple[str, str]]:
    """Return the tabs of a request, most helpful first."""
    earlier = _("Earlier decisions") if request.pending else _("Other decisions")
    return [
        *([("conversation", _("Conversation"))] if request.said_before else []),
        *([("earlier", earlier)] if precedents else []),
        ("notes", _("Notes")),
        ("details", _("Details")),
        # Last, so that a page never opens with it.
        *([("advice", _("Advice"))] if advised else []),
    ]


def _needs_reason(request: ApprovalRequest, settings: ToolSettings | None) -> bool:
    by_terms = terms_of(request.terms).reason is not None
    return (
        by_terms
        or (settings is not None and settings.reason_required)
        or request.priority in strict_priorities()
    )


def _offers(user: User, tool_name: str, settings: ToolSettings | None) -> list[str]:
    prepared: Any = settings.prepared_answers if settings is not None else []
    texts = (
        [text for text in prepared if isinstance(text, str) and text.strip()]
        if isinstance(prepared, list)
        else []
    )
    offered = dict.fromkeys(
        [*(text[:MAX_OFFER] for text in texts), *last_messages(user, tool_name)]
    )
    return [text for text in offered if mask_text(text) is text][:MAX_OFFERS]
