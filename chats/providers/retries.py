"""Retries of requests to a model's server, for all servers. Pure, except for jitter and the clock."""

from __future__ import annotations

import math
import random
import time
from email.utils import parsedate_to_datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

#: Seconds before the second attempt; each further wait is twice as long.
FIRST_WAIT = 0.5


def is_temporary(status: int) -> bool:
    """Return whether the same request may succeed a moment later; `status` is 0 without a response."""
    return not status or status in {408, 409, 429} or status >= 500


def is_redirect(status: int) -> bool:
    """Return whether a response is a redirect, judged by status alone."""
    return 300 <= status < 400


def words_of_redirect(status: int, setting: str) -> str:
    """Return the message about a redirect, which is not followed; `setting` names the address that was asked."""
    message = _(
        "The model's server redirects to another address (status %(status)d). The conversation was not sent there. "
        "Set %(setting)s to the address that answers."
    )
    return message % {"status": status, "setting": setting}


def with_request_id(problem: str, request_id: str) -> str:
    """Return a message about a failed request, with the request's id for the provider's support, if there is one."""
    if not request_id:
        return problem
    return _("%(problem)s (Request %(request_id)s.)") % {
        "problem": problem,
        "request_id": request_id,
    }


def retry_after(header: str) -> float | None:
    """Return the seconds in a `Retry-After` header, which may be a number or a date; None if it is neither."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def seconds_to_wait(requested: float | None, attempts: int) -> float:
    """Return the wait before the next request: the server's request, or else a jittered exponential backoff."""
    if requested is not None:
        return requested
    doubled: float = FIRST_WAIT * 2 ** (attempts - 1)
    return doubled * random.uniform(0.8, 1.2)  # noqa: S311 - jitter needs no cryptographic randomness


def later(requested: float | None) -> str:
    """Return instructions for a temporary problem."""
    minutes = math.ceil((requested or 0) / 60)
    wait = (
        ngettext("Wait %(n)d minute", "Wait %(n)d minutes", minutes)
        if minutes > 1
        else _("Wait a minute")
    )
    return _("%(wait)s, then send your message again.") % {
        "wait": wait % {"n": minutes}
    }
