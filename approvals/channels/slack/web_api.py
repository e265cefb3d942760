"""Call Slack's Web API. Each call is sent once: a card that may have been posted is not posted again behind our back."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from approvals import http_post
from approvals.channels.messenger import ChannelError
from approvals.db.canonical_json import NotCanonical, parse
from approvals.db.cursors import number_from
from approvals.json_types import JsonDict

MAX_BYTES = 1_000_000
#: Slack waits this long for the answer to a click; a dialog has to be open by then.
SECONDS_IN_CLICK = 2.0
#: Codes of Slack and of `call` that may pass by themselves.
PASSING = frozenset(
    {"unreachable", "ratelimited", "internal_error", "fatal_error", "request_timeout"}
    | {"service_unavailable", "not_json", "http_500", "http_502", "http_503"}
)
#: Codes after which a card cannot be rewritten.
GONE = frozenset(
    {"message_not_found", "channel_not_found", "is_archived", "is_inactive"}
    | {"cant_update_message", "edit_window_closed"}
)


class SlackError(ChannelError):
    """Slack refused a call; `code` is its word for it, or one of `call`."""

    PASSING = PASSING
    GONE = GONE


def call(
    token: str, method: str, *, seconds: float = http_post.SECONDS, **arguments: Any
) -> JsonDict:
    """Call a method and return its answer. Raise SlackError.

    The arguments are sent as a form, which every method accepts, with objects as JSON.
    """
    fields = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in arguments.items()
    }
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/x-www-form-urlencoded",
        "User-Agent": "Pausepoint",
    }
    try:
        reply = http_post.exchange(
            "POST",
            settings.SLACK_API_URL + method,
            urlencode(fields).encode(),
            headers,
            allow_private=settings.HITL_WEBHOOK_ALLOW_PRIVATE,
            seconds=seconds,
            max_bytes=MAX_BYTES,
        )
    except http_post.Undelivered as error:
        raise SlackError("unreachable") from error
    if reply.status == 429:
        raise SlackError("ratelimited", number_from(reply.retry_after, digits=5) or 1)
    if reply.status != 200:
        raise SlackError(f"http_{reply.status}")
    try:
        body = parse(reply.body.decode())
    except (NotCanonical, UnicodeDecodeError) as error:
        raise SlackError("not_json") from error
    if not isinstance(body, dict) or body.get("ok") is not True:
        code = body.get("error") if isinstance(body, dict) else None
        raise SlackError(code if isinstance(code, str) else "not_json")
    return body
