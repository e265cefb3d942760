"""Arguments of the provider's API that an agent passes through: checked, because some would break pauses and the record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.text.translatable import Count

MAX_BYTES = 10_000
#: Arguments that requests already have, with the agent's field that sets each; "" for those set by Pausepoint.
OWN = {
    "model": "model",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "system": "system",
    "instructions": "system",
    "tools": "tools",
    "tool_choice": "tool_choice",
    "thinking": "thinking",
    "reasoning": "thinking",
    "output_config": "effort and output",
    "output_format": "output",
    "response_format": "output",
    "temperature": "temperature",
    "stop": "stop_sequences",
    "stop_sequences": "stop_sequences",
    "cache_control": "cache_minutes",
    "mcp_servers": "mcp_servers",
    "fallbacks": "fallbacks",
    "messages": "",
    "input": "",
    "stream": "",
    "stream_options": "",
    "container": "",
    "context_management": "",
}
#: Arguments with which an answer could not be stored, paused and continued, and why.
BREAKING = {
    "thread": "the provider would keep the conversation, which has to be stored here",
    "conversation": "the provider would keep the conversation, which has to be stored here",
    "previous_response_id": "the provider would keep the conversation, which has to be stored here",
    "store": "the provider would keep the conversation, which has to be stored here",
    "background": "the answer would not be streamed",
    "compaction": "the answer would be a summary of the chat",
    "fallback_credit_token": "it belongs to a single refusal",
    "n": "there would be several answers",
}
#: The argument with the names of beta features of the API; they are sent as a header.
BETAS = "betas"
MAX_BETAS = 10
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_BETA = re.compile(r"[a-z0-9][a-z0-9-]{2,63}")


def check_extra(extra: Any) -> None:
    """Refuse arguments that cannot be passed through. Raise ValueError with the reason."""
    if not isinstance(extra, Mapping):
        raise ValueError(
            "extra must be a dictionary of arguments of the provider's API"
        )
    for name in extra:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"extra: {name!r} is not the name of an argument")
        if name in OWN:
            why = (
                f"set the agent's {OWN[name]} instead"
                if OWN[name]
                else "Pausepoint sets it"
            )
            raise ValueError(f"extra: {name} cannot be passed through; {why}")
        if name in BREAKING:
            raise ValueError(
                f"extra: {name} cannot be passed through, because {BREAKING[name]}"
            )
    betas = extra.get(BETAS, [])
    if (
        not isinstance(betas, list)
        or len(betas) > MAX_BETAS
        or not all(map(_is_beta, betas))
    ):
        raise ValueError(
            f"extra: {BETAS} must be a list of at most {MAX_BETAS} names such as fast-mode-2026-02-01"
        )
    try:
        canonical(dict(extra), max_bytes=MAX_BYTES)
    except (NotCanonical, RecursionError) as error:
        raise ValueError(
            f"extra must be JSON of at most {Count(MAX_BYTES)} bytes: {error}"
        ) from error


def _is_beta(value: Any) -> bool:
    return isinstance(value, str) and _BETA.fullmatch(value) is not None
