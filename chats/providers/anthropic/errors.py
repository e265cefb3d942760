"""Anthropic's errors: which can be retried, after how long, and what people are shown."""

from __future__ import annotations

import math
import random
import time
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chats.providers.anthropic.request import THOUGHTS

#: Seconds before the second attempt; each further wait is twice as long.
FIRST_WAIT = 0.5

#: HTTP statuses by the type of an `error` event, which arrives in a stream that began with status 200.
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class StreamBroken(Exception):
    """The stream ended, or became unreadable, before the API said why the answer ended."""


def _status(error: Exception) -> int:
    """Return the HTTP status, also of an error inside a stream that began with status 200; 0 without a response."""
    if not isinstance(error, anthropic.APIStatusError):
        return 0
    return STATUSES.get(error.type or "", error.status_code)


def _api_message(error: Exception) -> str:
    """Return the API's own error message."""
    message = error.api_message if isinstance(error, anthropic.APIStatusError) else None
    return message if isinstance(message, str) else str(error)


def unsupported_feature(error: Exception, arguments: dict[str, Any]) -> str:
    """Return the part of the request that this model refused and that can be left out; "" for any other error.

    One of the values of `request_arguments(without=)`. Thoughts are also refused after the history or the account changed.
    """
    message = _api_message(error).lower()
    if _status(error) != 400:
        return ""
    if "extra_body" in arguments and "temperature" in message:
        return "temperature"
    if "thinking" in arguments and "thinking" in message and not message.startswith("messages"):
        return str(arguments["thinking"]["type"])
    has_thoughts = any(block["type"] in THOUGHTS for sent in arguments["messages"] for block in sent["content"])
    about_thoughts = any(word in message for word in ("thinking", "signature", "block is bound"))
    return "thoughts" if has_thoughts and about_thoughts else ""


def is_temporary(error: Exception) -> bool:
    """Return whether the same request may well succeed a moment later."""
    status = _status(error)
    return not status or status in {408, 409, 429} or status >= 500


def seconds_to_wait(error: Exception, attempts: int) -> float:
    """Return the wait before the next request: what the API asks for, or else a jittered exponential backoff."""
    requested = _retry_after(error)
    if requested is not None:
        return requested
    doubled: float = FIRST_WAIT * 2 ** (attempts - 1)
    return doubled * random.uniform(0.8, 1.2)  # noqa: S311 - jitter needs no cryptographic randomness


def _retry_after(error: Exception) -> float | None:
    """Return the seconds in the response's `Retry-After`, which may be a number or a date; None without one."""
    value = error.response.headers.get("retry-after", "") if isinstance(error, anthropic.APIStatusError) else ""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def error_for_people(error: Exception, model: str) -> str:
    """Return what went wrong and what a person can do about it."""
    status, message = _status(error), _api_message(error)
    minutes = math.ceil((_retry_after(error) or 0) / 60)
    wait = ngettext("Wait %(n)d minute", "Wait %(n)d minutes", minutes) if minutes > 1 else _("Wait a minute")
    later = _("%(wait)s, then send your message again.") % {"wait": wait % {"n": minutes}}
    if isinstance(error, anthropic.APIConnectionError):
        return _("Claude cannot be reached. Check the server's network, then send your message again.")
    if not status:
        return _("The model's answer ended before it was complete. Send your message again.")
    if status == 401:
        return _("Claude rejected the API key. Check ANTHROPIC_API_KEY.")
    if status == 402 or "credit balance" in message:
        return _("The account of ANTHROPIC_API_KEY has no credit left. Add credit, then send your message again.")
    if status == 403:
        no_access = _(
            "The API key does not have access to the model %(model)s. Check ANTHROPIC_API_KEY and HITL_MODEL."
        )
        return no_access % {"model": model}
    if status == 404:
        return _("No model is named %(model)s. Check HITL_MODEL, or the agent's model.") % {"model": model}
    if status == 413 or "too long" in message or "context limit" in message:
        return _("This chat is too long for the model. Start a new chat.")
    if status == 429:
        return _("Claude's rate limit is reached. %(later)s") % {"later": later}
    if status == 529:
        return _("Claude is overloaded right now. %(later)s") % {"later": later}
    if 400 <= status < 500:
        return _("Claude did not accept the request: %(said)s") % {"said": message[:300]}
    return _("Claude has a problem right now. %(later)s") % {"later": later}
