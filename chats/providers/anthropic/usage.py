"""The usage of an answer, as counted by the API. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from approvals.json_types import JsonMapping
from chats.providers.anthropic.history import SUMMARY

USAGE = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
#: Nested counts in the usage: their paths, and the names under which they are stored.
DETAILS = {
    ("output_tokens_details", "thinking_tokens"): "thinking_tokens",
    ("cache_creation", "ephemeral_1h_input_tokens"): "cache_creation_1h_input_tokens",
    ("server_tool_use", "web_search_requests"): "web_search_requests",
    ("server_tool_use", "web_fetch_requests"): "web_fetch_requests",
}
#: The round in which a fallback answered.
SERVED = "fallback_message"


def counts_of(usage: JsonMapping) -> dict[str, int]:
    """Return the counts in a usage, without those of `counts_beside`."""
    counts = {name: usage[name] for name in USAGE if isinstance(usage.get(name), int)}
    for (part, name), stored in DETAILS.items():
        inner = usage.get(part)
        count = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(count, int) and (count or stored == "thinking_tokens"):
            counts[stored] = count
    return counts


def counts_beside(usage: JsonMapping) -> dict[str, int]:
    """Return billed counts that are not in the sums: a summary, and the output of models before they refused to continue."""
    total: Counter[str] = Counter()
    served = served_by(usage)
    for step in _rounds(usage):
        # A model that refuses before its first output costs nothing.
        kind = step.get("type")
        refused = (
            served
            and kind == "message"
            and step.get("model") != served
            and step.get("output_tokens")
        )
        if kind == SUMMARY or refused:
            total.update(
                {name: int(step.get(name) or 0) for name in USAGE} | counts_of(step)
            )
    return {name: count for name, count in total.items() if count}


def served_by(usage: JsonMapping) -> str:
    """Return the model that answered as a fallback; "" if the requested one has answered."""
    served = (
        step.get("model") for step in _rounds(usage) if step.get("type") == SERVED
    )
    return next((str(model) for model in served if model), "")


def _rounds(usage: JsonMapping) -> Iterator[JsonMapping]:
    return (item for item in usage.get("iterations") or () if isinstance(item, dict))
