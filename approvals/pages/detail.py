"""What the page of a request shows besides its card: its key fields, earlier decisions and messages to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from approvals.access.standing import Standing
from approvals.asking.secrets import masked_input
from approvals.models import Absence, Advice, ApprovalRequest, ToolSettings
from approvals.pages.cards import Card
from approvals.pages.key_fields import key_values, read_beginning
from approvals.policy.terms import terms_of
from approvals.queries.attention.advice import advice_on
from approvals.queries.policy.absences import away_from
from approvals.queries.policy.ruling import rules_asked_under, settings_under
from approvals.queries.precedents import Precedents, precedents_of
from approvals.queries.preferences import settings_of_tools, strict_priorities
from approvals.queries.suggestions import last_messages
from approvals.states import Kind
from approvals.text.secrets import mask_text

#: How many messages are offered, prepared ones first, and how long one may be.
MAX_OFFERS, MAX_OFFER = 12, 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The variable `detail` of `approvals/request/page.html`. `offers` are messages that fill the field when pressed."""

    key_values: Sequence[tuple[str, str]]
    precedents: Precedents | None
    #: The listed precedents, each with its key fields as they were approved.
    earlier: Sequence[tuple[ApprovalRequest, Sequence[tuple[str, str]]]]
    #: What is behind each tab, and the words on it.
    tabs: Sequence[tuple[str, str]]
    offers: Sequence[str]
    #: The advice of programs with its text, in which what looks like a key is masked.
    advice: Sequence[tuple[Advice, str]]
    reason_required: bool
    #: What the rules that it was asked under tell people.
    rule_messages: Sequence[str]
    #: The absences of people on whom it waits, with who decides for them.
    away: Sequence[Absence]


def detail_of(user: User, viewer: Standing, card: Card) -> Detail:
    """Return what surrounds a card on its page, for one person."""
    request = card.request
    settings = settings_of_tools({request.tool_name}).get(request.tool_name)
    rules = rules_asked_under(request)
    shown_first = settings_under(rules, settings)
    decides = card.may_close and request.kind == Kind.APPROVAL
    precedents = precedents_of(viewer, request)
    # Earlier requests of the tool are not read with their schemas.
    schema = None if card.asks else request.response_schema
    return Detail(
        key_values=key_values(request.input, shown_first, request.tool_name, schema)
        if card.may_close and not card.asks
        else (),
        precedents=precedents,
        earlier=[
            (past, key_values(masked_input(past, read_beginning(past.gist)), shown_first, past.tool_name, schema))
            for past in (precedents.listed if precedents else ())
        ],
        tabs=_tabs(request, precedents),
        offers=_offers(user, request.tool_name, settings) if decides else (),
        advice=[(advice, mask_text(advice.text)) for advice in advice_on(request)],
        reason_required=decides and _needs_reason(request, settings),
        rule_messages=[rule.message for rule in rules if rule.message],
        away=away_from(request) if request.pending else (),
    )


def _tabs(request: ApprovalRequest, precedents: Precedents | None) -> list[tuple[str, str]]:
    """Return the tabs of a request, what helps to decide it first."""
    earlier = _("Earlier decisions") if request.pending else _("Other decisions")
    return [
        *([("conversation", _("Conversation"))] if request.said_before else []),
        *([("earlier", earlier)] if precedents else []),
        ("notes", _("Notes")),
        ("details", _("Details")),
        # Last, so that it is never what a page opens with.
        *([("advice", _("Advice"))] if request.advised else []),
    ]


def _needs_reason(request: ApprovalRequest, settings: ToolSettings | None) -> bool:
    by_terms = terms_of(request.terms).reason is not None
    return by_terms or (settings is not None and settings.reason_required) or request.priority in strict_priorities()


def _offers(user: User, tool_name: str, settings: ToolSettings | None) -> list[str]:
    prepared: Any = settings.prepared_answers if settings is not None else []
    texts = [text for text in prepared if isinstance(text, str) and text.strip()] if isinstance(prepared, list) else []
    offered = dict.fromkeys([*(text[:MAX_OFFER] for text in texts), *last_messages(user, tool_name)])
    return [text for text in offered if mask_text(text) is text][:MAX_OFFERS]
