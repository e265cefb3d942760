"""Log-out at OpenID providers, and log-out here at their request (back-channel log-out)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import requests
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from approvals import actions
from approvals.addresses import parse_destination
from hitlsite.accounts.tokens import LEEWAY, LOG_OUT_SECONDS, decode_log_out_token
from hitlsite.accounts.transport import (
    is_private_host,
    of_the_provider,
    read_config,
    start_calls,
)

logger = logging.getLogger(__name__)

#: Servers refuse longer addresses; without the ID token, the provider asks the person whether to log out.
MAX_HINT = 4000


def log_out_address(config: Mapping[str, Any], id_token: str) -> str:
    """Return where the provider ends its session; "" if it offers no such page, or one at an address that is not allowed."""
    address = config.get("end_session_endpoint", "")
    if not isinstance(address, str) or not address:
        return ""
    try:
        parse_destination(address, allow_private=is_private_host(address))
    except ValueError as error:
        logger.warning("The provider's address for log-out cannot be used: %s", error)
        return ""
    query = {
        "client_id": config["client_id"],
        "post_logout_redirect_uri": settings.PUBLIC_URL + reverse("account_login"),
    }
    if len(id_token) <= MAX_HINT:
        query["id_token_hint"] = id_token
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


def end_at_request_of_provider(request: HttpRequest, app: SocialApp) -> HttpResponse:
    """End the sessions that the provider's log-out token names."""
    start_calls(app)
    try:
        claims = _claims_of(request.POST.get("logout_token", ""), app)
    except (OAuth2Error, requests.RequestException) as error:
        return _refused(str(error))
    ended = actions.end_provider_sessions(
        claims["jti"],
        issuer=app.provider_id,
        subject=claims.get("sub", ""),
        sid=claims.get("sid", ""),
        lasts=timedelta(seconds=LOG_OUT_SECONDS + LEEWAY),
    )
    if ended is None:
        return _refused("token: used before")
    logger.info("The provider ended %d sessions", ended)
    return HttpResponse(headers={"Cache-Control": "no-store"})


@of_the_provider
def _claims_of(token: str, app: SocialApp) -> dict[str, Any]:
    return decode_log_out_token(token, config=read_config(app))


def _refused(reason: str) -> HttpResponse:
    logger.warning("Refused a log-out by the provider: %.300s", reason)
    # In the words and the form of the standard, OpenID Connect Back-Channel Logout 1.0.
    body = {
        "error": "invalid_request",
        "error_description": "The logout_token is missing or not valid.",
    }
    headers = {"Cache-Control": "no-store"}
    return JsonResponse(body, status=HTTPStatus.BAD_REQUEST, headers=headers)
