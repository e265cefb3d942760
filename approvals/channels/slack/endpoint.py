"""The address to which Slack posts clicks and dialogs. Its signature is the only way in."""

from __future__ import annotations

import time
from http import HTTPStatus
from urllib.parse import parse_qs

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from approvals.access.rate_limits import TooMany, client_address, count_wrong_key
from approvals.actions.channels.connections import secrets_of
from approvals.channels.slack.receive import ClickResponse, receive
from approvals.channels.slack.signature import is_signed
from approvals.db.canonical_json import NotCanonical, parse
from approvals.exceptions import WrongMethod
from approvals.http import problem, refusal_page
from approvals.models import ChannelConnection

#: A payload holds the whole message with its buttons, and a submitted form.
MAX_BYTES = 1_000_000


@csrf_exempt
@login_not_required
def interactivity(request: HttpRequest) -> HttpResponse:
    """Take a click or a dialog."""
    if request.method != "POST":
        return refusal_page(request, WrongMethod("POST"))
    connection = ChannelConnection.objects.filter(
        kind=ChannelConnection.Kind.SLACK
    ).first()
    if connection is None:
        return _refused(
            request, HTTPStatus.NOT_FOUND, _("Slack is not connected."), "not_connected"
        )
    body = _body(request)
    if body is None:
        words = _("The body is larger than 1 MB.")
        return _refused(
            request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words, "too_large"
        )
    if not _is_from_slack(request, connection, body):
        return _unsigned(request)
    reply = _reply(connection, body)
    if reply.status == HTTPStatus.FORBIDDEN:
        words = _("This is from another app or workspace than the connected one.")
        return _refused(request, HTTPStatus.FORBIDDEN, words, "other_app")
    if reply.status == HTTPStatus.BAD_REQUEST:
        words = _("This is not a click or a dialog of Slack.")
        return _refused(request, HTTPStatus.BAD_REQUEST, words, "bad_body")
    return HttpResponse() if reply.body is None else JsonResponse(reply.body)


def _body(request: HttpRequest) -> bytes | None:
    """Return the raw body; None if it is too large."""
    declared = request.headers.get("Content-Length", "")
    if declared.isdecimal() and len(declared) < 12 and int(declared) > MAX_BYTES:
        return None
    body = request.read(MAX_BYTES + 1)
    return None if len(body) > MAX_BYTES else body


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


def _unsigned(request: HttpRequest) -> HttpResponse:
    """Refuse a call, and count it against the limit of its address."""
    try:
        count_wrong_key(client_address(request))
    except TooMany as refusal:
        return refusal_page(request, refusal)
    words = _("The signature is wrong, or older than five minutes.")
    return _refused(request, HTTPStatus.UNAUTHORIZED, words, "wrong_signature")


def _reply(connection: ChannelConnection, body: bytes) -> ClickResponse:
    try:
        fields = parse_qs(
            body.decode(), strict_parsing=True, errors="strict", max_num_fields=10
        )
        [text] = fields["payload"]
        payload = parse(text)
    except (ValueError, KeyError, NotCanonical):
        return ClickResponse(HTTPStatus.BAD_REQUEST)
    return receive(connection, payload)


def _refused(
    request: HttpRequest, status: HTTPStatus, words: str, code: str
) -> HttpResponse:
    return problem(request, status, words, code)
