"""The tokens that models have read and written, and their cost at the administrator's prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils import timezone

from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict, JsonMapping
from chats.models import Chat, ModelPrice, Step, Turn
from chats.queries.progress import Progress
from chats.states import TurnState

MILLION = 1_000_000
#: Maximum steps that are read, latest first.
LIMIT = 20_000
#: The columns that determine the cost of a step.
_ANSWER = ("model", "usage", "created_at", "answered_by")


@dataclass(frozen=True, slots=True)
class Tokens:
    """How many tokens a model has read and written. `cache_read` were in its cache, `cache_write` were added to it.

    Of the latter, `cache_write_hour` were added for an hour. `searches` are its web searches, which are billed separately.
    """

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    thinking: int = 0
    cache_write_hour: int = 0
    searches: int = 0

    @property
    def read(self) -> int:
        """All tokens of the prompts, from the cache or not."""
        return self.input + self.cache_write + self.cache_read

    @property
    def cached_percent(self) -> int:
        """The percentage of read tokens that came from the cache."""
        return 100 * self.cache_read // self.read if self.read else 0

    def __bool__(self) -> bool:
        return bool(self.read or self.output or self.searches)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            *(sum(pair) for pair in zip(astuple(self), astuple(other), strict=True))
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and their cost, by currency. `unpriced` are the models without a price, whose tokens cost nothing here."""

    tokens: Tokens = field(default_factory=Tokens)
    costs: Mapping[str, Decimal] = field(default_factory=dict)
    unpriced: frozenset[str] = frozenset()

    def __add__(self, other: Usage) -> Usage:
        costs = {
            name: self.costs.get(name, 0) + other.costs.get(name, 0)
            for name in {**self.costs, **other.costs}
        }
        return Usage(self.tokens + other.tokens, costs, self.unpriced | other.unpriced)  # type: ignore[arg-type]


def tokens_of(usage: JsonMapping) -> Tokens:
    """Return the tokens in the stored usage of a step or turn, under the API's names; invalid counts are 0."""
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
        "thinking_tokens",
        "cache_creation_1h_input_tokens",
        "web_search_requests",
    )
    counts = [usage.get(name) for name in names]
    return Tokens(
        *(count if isinstance(count, int) and count > 0 else 0 for count in counts)
    )


def message_metadata(turn: Turn, progress: Progress) -> JsonDict:
    """Return the metadata for clients of an ended turn's message: the model, its tokens, and the time of the answer."""
    tokens = tokens_of(progress.usage)
    counts = {
        "inputTokens": tokens.read,
        "outputTokens": tokens.output,
        "cachedInputTokens": tokens.cache_read,
        "reasoningTokens": tokens.thinking,
    }
    step = progress.steps[-1] if progress.steps else None
    model = (step.answered_by.get("model") or step.model) if step is not None else ""
    times = {"createdAt": utc(turn.created_at), "finishedAt": utc(timezone.now())}
    return {**({"model": model} if model else {}), "usage": counts, **times}


class Prices:
    """The prices of models, read once."""

    def __init__(self, rows: Iterable[ModelPrice]) -> None:
        self._rows = sorted(
            rows,
            key=lambda row: (len(row.prefix), row.valid_from, row.above),
            reverse=True,
        )

    @classmethod
    def read(cls) -> Prices:
        return cls(ModelPrice.objects.all())

    def usage(
        self,
        model: str,
        usage: JsonMapping,
        when: datetime,
        answered_by: JsonMapping | None = None,
    ) -> Usage:
        """Return the tokens of one answer with their cost: by the model that answered, or else by the requested one."""
        tokens = tokens_of(usage)
        identity = answered_by or {}
        if not tokens:
            return Usage()
        tier = str(identity.get("service_tier") or "")
        names = [str(name) for name in (identity.get("model"), model) if name]
        prices = (self._price(name, tier, tokens, when.date()) for name in names)
        price = next((price for price in prices if price is not None), None)
        if price is None:
            return Usage(tokens, {}, frozenset({names[0] if names else "?"}))
        hour = min(tokens.cache_write_hour, tokens.cache_write)
        parts = (
            tokens.input * price.input,
            (tokens.cache_write - hour) * price.cache_write,
            hour
            * (
                price.cache_write
                if price.cache_write_hour is None
                else price.cache_write_hour
            ),
            tokens.cache_read * price.cache_read,
            tokens.output * price.output,
            tokens.searches * 1000 * (price.searches or 0),
        )
        return Usage(tokens, {price.currency: sum(parts, Decimal()) / MILLION})

    def _price(
        self, model: str, tier: str, tokens: Tokens, day: date
    ) -> ModelPrice | None:
        named = [
            row for row in self._rows if row.prefix and model.startswith(row.prefix)
        ]
        longest = named[0].prefix if named else ""
        of_all = [
            row
            for row in named
            if row.prefix == longest and row.valid_from <= day and not row.service_tier
        ]
        of_tier = [
            row
            for row in named
            if row.prefix == longest
            and row.valid_from <= day
            and row.service_tier == tier
        ]
        valid = (of_tier if tier else []) or of_all
        latest = valid[0].valid_from if valid else None
        return next(
            (
                row
                for row in valid
                if row.valid_from == latest
                and (not row.above or row.above < tokens.read)
            ),
            None,
        )


def usage_of_chat(chat: Chat, *, limit: int = LIMIT) -> dict[int, Usage]:
    """Return the usage of each turn of a chat, including the sub-agents below it; keys are the ids of the chat's turns.

    From at most `limit` steps, latest first.
    """
    chats = Chat.objects.filter(Q(pk=chat.pk) | Q(root=chat.pk)).values("pk")
    rows = Step.objects.filter(turn__chat__in=chats).order_by("-id")
    used: dict[int, Usage] = defaultdict(Usage)
    prices = Prices.read()
    for turn, root, *answer in rows.values_list("turn", "turn__root", *_ANSWER)[:limit]:
        # A sub-agent's chat shows its own turns, and the top chat those of all sub-agents with its own.
        used[turn if chat.root_id is not None else root or turn] += prices.usage(
            *answer
        )
    return dict(used)


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages."""
    return sum(usages, Usage())


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """An agent's usage in a period, and how many of its turns ended in each way.

    The keys of `ends` are the finish reasons of completed turns, and the states of others.
    """

    name: str
    usage: Usage
    ends: Mapping[str, int]

    @property
    def turns(self) -> int:
        return sum(self.ends.values())


def agent_figures(chats: Any, since: datetime) -> Sequence[AgentFigures]:
    """Return the figures of each agent in these chats, most used first, from at most the latest LIMIT steps and turns."""
    prices = Prices.read()
    used: dict[str, Usage] = defaultdict(Usage)
    steps = Step.objects.filter(turn__chat__in=chats).order_by("-id")
    for agent, model, usage, when, answered_by in steps.values_list(
        "turn__agent", *_ANSWER
    )[:LIMIT]:
        if when >= since:
            used[agent] += prices.usage(model, usage, when, answered_by)
    ends: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    turns = Turn.objects.filter(chat__in=chats).order_by("-id")
    for agent, state, reason, ended in turns.values_list(
        "agent", "state", "finish_reason", "ended_at"
    )[:LIMIT]:
        if ended is not None and ended >= since:
            ends[agent][reason if state == TurnState.COMPLETED else state] += 1
    rows = [
        AgentFigures(name, used.get(name, Usage()), ends.get(name, {}))
        for name in {*used, *ends}
    ]
    return sorted(
        rows,
        key=lambda figures: (
            -figures.usage.tokens.read - figures.usage.tokens.output,
            figures.name,
        ),
    )
