"""The addresses to which relays post answers and ask for links. Their signature is the only way in."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from standardwebhooks import Webhook, WebhookVerificationError

from approvals.access.rate_limits import TooMany, client_address, count_wrong_key
from approvals.actions.channels.connections import secrets_of
from approvals.actions.channels.links import VALID_FOR, offer_link
from approvals.actions.channels.relays import RELAY
from approvals.channels.relay import answers, contract
from approvals.db.canonical_json import NotCanonical, parse, utc
from approvals.exceptions import BadBody, Invalid, Refusal, WrongMethod
from approvals.http import problem, refusal_page
from approvals.json_types import JsonDict
from approvals.models import ChannelConnection
from approvals.schema.check import schema_errors

#: An answer holds a token, an account and a message.
MAX_BYTES = 64_000

Act = Callable[[ChannelConnection, JsonDict], JsonDict]


@csrf_exempt
@login_not_required
def answer(request: HttpRequest, name: str) -> HttpResponse:
    """Take the answer of a person."""
    return _taken(request, name, contract.ANSWER, answers.answer, HTTPStatus.OK)


@csrf_exempt
@login_not_required
def link(request: HttpRequest, name: str) -> HttpResponse:
    """Return an address at which a person links an account with theirs."""
    return _taken(request, name, contract.LINK, _offer, HTTPStatus.CREATED)


@login_not_required
@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The JSON Schemas of what Pausepoint and relays post."""
    return JsonResponse(contract.SCHEMA)


def _taken(
    request: HttpRequest, name: str, shape: JsonDict, act: Act, status: HTTPStatus
) -> HttpResponse:
    if request.method != "POST":
        return refusal_page(request, WrongMethod("POST"))
    body = request.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        words = _("The body is larger than 64 kB.")
        return problem(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words, "too_large")
    connection = ChannelConnection.objects.filter(kind=RELAY, team_id=name).first()
    # An unknown relay is answered as a wrong signature.
    if connection is None or not _is_signed(request, connection, body):
        try:
            count_wrong_key(client_address(request))
        except TooMany as refusal:
            return refusal_page(request, refusal)
        words = _("The signature is wrong, or older than five minutes.")
        return problem(request, HTTPStatus.UNAUTHORIZED, words, "wrong_signature")
    try:
        return JsonResponse(act(connection, _parsed(body, shape)), status=status)
    except Refusal as refusal:
        return refusal_page(request, refusal)


def _is_signed(
    request: HttpRequest, connection: ChannelConnection, body: bytes
) -> bool:
    secrets = secrets_of(connection)
    if secrets is None:
        return False
    headers = {name.lower(): value for name, value in request.headers.items()}
    try:
        Webhook(secrets.signing_secret).verify(body, headers, json_parse=False)
    except (WebhookVerificationError, ValueError, OverflowError):
        return False
    return True


def _parsed(body: bytes, shape: JsonDict) -> dict[str, Any]:
    """Return the object in a body. Raise BadBody or Invalid."""
    try:
        sent = parse(body.decode())
    except (ValueError, NotCanonical) as error:
        raise BadBody(_("The body is not JSON.")) from error
    errors = schema_errors(shape, sent)
    if errors or not isinstance(sent, dict):
        words = _("The body does not match the schema of relays.")
        raise Invalid(words, errors)
    return sent


def _offer(connection: ChannelConnection, sent: JsonDict) -> JsonDict:
    name = sent.get("name", "")
    token = offer_link(connection, connection.team_id, sent["account"], name)
    path = reverse("relay:link", args=[token])
    until = timezone.now() + VALID_FOR
    return {"url": settings.PUBLIC_URL + path, "expires_at": utc(until)}
