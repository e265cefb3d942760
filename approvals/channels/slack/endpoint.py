"""The addresses to which Slack posts clicks, dialogs and events. Its signature is the only way in."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import parse_qs

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt

from approvals.access.rate_limits import TooMany, client_address, count_wrong_key
from approvals.actions.channels.connections import secrets_of
from approvals.channels.bodies import raw_body
from approvals.channels.slack.receive import ClickResponse, receive, receive_event
from approvals.channels.slack.signature import is_signed
from approvals.db.canonical_json import NotCanonical, parse
from approvals.exceptions import WrongMethod
from approvals.http import problem, refusal_page
from approvals.models import ChannelConnection

#: A payload holds the whole message with its buttons, and a submitted form.
MAX_BYTES = 1_000_000
#: What anyone may send before Slack is connected.
MAX_UNSIGNED = 1_000
#: The refusals, in words and as a code.
REFUSALS = {
    400: (_("This is not a click, a dialog or an event of Slack."), "bad_body"),
    401: (
        _("The signature is wrong, or older than five minutes."),
        "wrong_signature",
    ),
    403: (
        _("This is from another app or workspace than the connected one."),
        "other_app",
    ),
    404: (_("Slack is not connected."), "not_connected"),
    413: (_("The body is larger than 1 MB."), "too_large"),
}
#: The text that Slack wants back from a new address.
_CHALLENGE = re.compile(r"[A-Za-z0-9._-]{1,200}", re.ASCII)


@csrf_exempt
@login_not_required
def interactivity(request: HttpRequest) -> HttpResponse:
    """Take a click or a dialog."""
    return _answer(request, _interaction)


@csrf_exempt
@login_not_required
def events(request: HttpRequest) -> HttpResponse:
    """Take an event, or show Slack that this address is that of a desk, even before Slack is connected."""
    return _answer(request, _event)


def _answer(
    request: HttpRequest,
    read: Callable[[ChannelConnection | None, bytes], ClickResponse],
) -> HttpResponse:
    if request.method != "POST":
        return refusal_page(request, WrongMethod("POST"))
    connection = ChannelConnection.objects.filter(
        kind=ChannelConnection.Kind.SLACK
    ).first()
    body = raw_body(request, MAX_BYTES)
    if body is None:
        reply = ClickResponse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    elif connection is not None and not _is_from_slack(request, connection, body):
        try:
            count_wrong_key(client_address(request))
        except TooMany as refusal:
            return refusal_page(request, refusal)
        reply = ClickResponse(HTTPStatus.UNAUTHORIZED)
    else:
        reply = read(connection, body)
    if reply.status in REFUSALS:
        words, code = REFUSALS[reply.status]
        return problem(request, HTTPStatus(reply.status), str(words), code)
    return HttpResponse() if reply.body is None else JsonResponse(reply.body)


def _is_from_slack(
    request: HttpRequest, connection: ChannelConnection, body: bytes
) -> bool:
    secrets = secrets_of(connection)
    return secrets is not None and is_signed(
        secrets.signing_secret,
        request.headers.get("X-Slack-Signature", ""),
        request.headers.get("X-Slack-Request-Timestamp", ""),
        body,
        time.time(),
    )


def _event(connection: ChannelConnection | None, body: bytes) -> ClickResponse:
    sent: object = None
    if connection is not None or len(body) <= MAX_UNSIGNED:
        with suppress(ValueError, NotCanonical):
            sent = parse(body.decode())
    if isinstance(sent, Mapping) and sent.get("type") == "url_verification":
        challenge = sent.get("challenge")
        if isinstance(challenge, str) and _CHALLENGE.fullmatch(challenge):
            return ClickResponse(body={"challenge": challenge})
    if connection is None:
        return ClickResponse(HTTPStatus.NOT_FOUND)
    if not isinstance(sent, Mapping) or not sent:
        return ClickResponse(HTTPStatus.BAD_REQUEST)
    return receive_event(connection, sent)


def _interaction(connection: ChannelConnection | None, body: bytes) -> ClickResponse:
    if connection is None:
        return ClickResponse(HTTPStatus.NOT_FOUND)
    try:
        fields = parse_qs(
            body.decode(), strict_parsing=True, errors="strict", max_num_fields=10
        )
        [text] = fields["payload"]
        payload = parse(text)
    except (ValueError, KeyError, NotCanonical):
        return ClickResponse(HTTPStatus.BAD_REQUEST)
    return receive(connection, payload)
