"""Pages of model usage: by turns of a chat, and by agents over all chats that a person may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from approvals.access import permissions
from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages
from approvals.text.numbers import grouped
from chats import queries
from chats.models import Chat, Turn
from chats.queries.usage import (
    LIMIT,
    AgentFigures,
    Usage,
    agent_figures,
    total,
    usage_of_chat,
)
from chats.states import FinishReason, TurnState

PERIODS = (7, 30, 90)
DEFAULT_PERIOD = 30
#: Maximum answers that the page of a chat sums up each time.
SUMMED = 1_000
#: Maximum turns of a chat that are listed, latest first.
LISTED = 200


@dataclass(frozen=True, slots=True)
class UsageView:
    """Usage for display. `cost` is "" if nothing has a price; `unpriced` names the models without one."""

    read: str
    cached: int
    written: str
    thinking: str
    searches: int
    cost: str
    unpriced: str
    tokens_read: int


@dataclass(frozen=True, slots=True)
class TurnLine:
    turn: Turn
    usage: UsageView


@dataclass(frozen=True, slots=True)
class AgentLine:
    figures: AgentFigures
    usage: UsageView | None
    ends: Sequence[int]


#: Ends of turns, as the columns of the agents' page.
ENDS = (
    FinishReason.STOP,
    FinishReason.LENGTH,
    FinishReason.CONTENT_FILTER,
    TurnState.FAILED,
    TurnState.STOPPED,
    FinishReason.OTHER,
)


def usage_view(usage: Usage) -> UsageView | None:
    """Return usage for display; None without any."""
    tokens = usage.tokens
    if not tokens:
        return None
    return UsageView(
        grouped(tokens.read),
        tokens.cached_percent,
        grouped(tokens.output),
        grouped(tokens.thinking) if tokens.thinking else "",
        tokens.searches,
        " + ".join(
            _money(amount, currency) for currency, amount in sorted(usage.costs.items())
        ),
        ", ".join(sorted(usage.unpriced)),
        tokens.read,
    )


def _money(amount: Decimal, currency: str) -> str:
    """Return an amount with its currency; small ones with four decimals, because an answer may cost a part of a cent."""
    return f"{number_format(amount, 2 if amount >= 1 else 4, force_grouping=True)} {currency}"


def summary_of(chat: Chat) -> UsageView | None:
    """Return the usage of the latest SUMMED answers of a chat."""
    return usage_view(total(usage_of_chat(chat, limit=SUMMED).values()))


@require_GET
@refusals_as_pages
def chat_usage(request: SignedIn, pk: int) -> HttpResponse:
    """Show the usage of each turn of a chat."""
    chat = queries.get_chat_for(request.standing, pk)
    used = usage_of_chat(chat)
    turns = [] if chat.pruned_at is not None else chat.turns.order_by("-id")[:LISTED]
    lines = [
        TurnLine(turn, view)
        for turn in turns
        if (view := usage_view(used.get(turn.pk, Usage()))) is not None
    ]
    context = {
        "chat": chat,
        "lines": lines,
        "total": usage_view(total(used.values())),
        "listed": LISTED,
    }
    return render(request, "chats/usage/chat.html", context)


@require_GET
@refusals_as_pages
def agents_usage(request: SignedIn) -> HttpResponse:
    """Show the usage of each agent in the last `?days=`, and the ends of its turns."""
    days = request.GET.get("days", str(DEFAULT_PERIOD))
    if days not in map(str, PERIODS):
        raise Invalid(
            _("Usage is available for 7, 30, or 90 days."),
            {"days": _("must be 7, 30, or 90")},
        )
    chats = queries.chats_for(request.standing).order_by().values("pk")
    figures = agent_figures(chats, timezone.now() - timedelta(days=int(days)))
    lines = [
        AgentLine(agent, view, [agent.ends.get(end, 0) for end in ENDS])
        for agent in figures
        if (view := usage_view(agent.usage)) is not None or agent.turns
    ]
    context = {
        "lines": lines,
        "total": usage_view(total(agent.usage for agent in figures)),
        "periods": PERIODS,
        "days": int(days),
        "limit": grouped(LIMIT),
        "all": permissions.sees_everything(request.standing),
    }
    return render(request, "chats/usage/agents.html", context)
