"""Respond when a chat has changed, without holding a thread or a database connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.access.callers import Caller
from approvals.api.frame import invalid_parameter
from approvals.api.long_poll import answer_anew
from approvals.db import pool
from approvals.live.listeners import subscribe
from approvals.live.streaming import deferred_response
from chats.doorbell import chat_group

MAX_WAIT = 60
#: Seconds between two reads, in case a notification is lost.
POLL = 5.0


def seconds_to_wait(request: HttpRequest) -> int:
    """Return `?wait=` in seconds, or 0. Raise Invalid."""
    text = request.GET.get("wait", "0")
    if re.fullmatch(r"[0-9]{1,3}", text) and int(text) <= MAX_WAIT:
        return int(text)
    problem = _("must be a whole number of seconds from 0 to %(limit)s") % {
        "limit": MAX_WAIT
    }
    raise invalid_parameter("wait", problem)


def respond_when_changed(
    request: HttpRequest,
    chat_pk: int,
    seconds: int,
    seen: str,
    respond: Callable[[Caller], HttpResponse],
    finish: Callable[[HttpRequest, HttpResponse], HttpResponse],
) -> HttpResponse:
    """Return `respond`'s response after `finish`, once its ETag differs from `seen`, or after `seconds`."""
    now = answer_anew(request, respond)

    async def later() -> HttpResponse:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        async with subscribe(chat_group(chat_pk)) as notifications:
            while True:
                response = await pool.run(now)
                etag = response.headers.get("ETag")
                left = end - loop.time()
                if etag != seen or left <= 0:
                    return finish(request, response) if etag else response
                await notifications.wait(min(left, POLL))

    return deferred_response(request, later)
