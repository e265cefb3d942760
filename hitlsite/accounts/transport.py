"""Calls to OpenID providers: checked addresses, a deadline for each request, and answers of the expected form."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextvars import ContextVar
from http import HTTPStatus
from io import BytesIO
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from allauth.socialaccount.models import SocialApp
from django.utils.translation import gettext as _
from requests.adapters import BaseAdapter

from approvals import http_post
from approvals.addresses import parse_destination
from approvals.db.transactions import release_connections

R = TypeVar("R")

#: For all calls to the provider during one request, so that people see a page within five seconds.
SECONDS = 4.5
MAX_BYTES = 500_000
_deadline: ContextVar[float] = ContextVar("deadline")
_private_hosts: ContextVar[Collection[str]] = ContextVar("private_hosts")


class Unintelligible(requests.RequestException):
    """The provider answered in a way that OpenID Connect does not allow."""


class _Transport(BaseAdapter):
    """Send the calls of `requests` to checked addresses only, without redirects, proxies or files of passwords."""

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        url = str(request.url)
        # allauth sends forms and nothing else.
        body = str(request.body or "").encode()
        headers = {
            name: str(value)
            for name, value in request.headers.items()
            if name in {"Accept", "Authorization", "Content-Type"}
        }
        release_connections()
        try:
            reply = http_post.exchange(
                str(request.method),
                url,
                body,
                headers,
                allow_private=is_private_host(url),
                seconds=max(_deadline.get() - time.monotonic(), 0.01),
                max_bytes=MAX_BYTES,
            )
        except http_post.Undelivered as error:
            raise requests.ConnectionError(f"{url}: {error}") from error
        if 300 <= reply.status < 400 or reply.status >= 500:
            raise Unintelligible(f"{url}: answered {reply.status}")
        response = requests.Response()
        response.status_code = reply.status
        response.headers["Content-Type"] = reply.content_type
        response.raw = BytesIO(reply.body)
        response.url = url
        response.request = request
        return response

    def close(self) -> None:
        """Do nothing: each call has its own connection."""


def is_private_host(url: str) -> bool:
    """Return whether this host of the provider may be in a private network, and use plain HTTP."""
    return urlsplit(url).hostname in _private_hosts.get()


def of_the_provider(read: Callable[..., R]) -> Callable[..., R]:
    """Turn the errors of code that reads an answer of the provider into Unintelligible."""
    unreadable = (AttributeError, KeyError, RecursionError, TypeError, ValueError)

    def reading(*args: Any, **kwargs: Any) -> R:
        try:
            return read(*args, **kwargs)
        except unreadable as error:
            raise Unintelligible(f"{type(error).__name__}: {error}") from error

    return reading


@of_the_provider
def start_calls(app: SocialApp, seconds: float | None = None) -> None:
    """Begin the time that all calls of this request to a provider share."""
    _deadline.set(time.monotonic() + (SECONDS if seconds is None else seconds))
    own = [urlsplit(app.provider_id).hostname] if app.settings.get("private") else []
    _private_hosts.set(app.settings.get("private_hosts", own))


def checked_session() -> requests.Session:
    """Return a session that calls checked addresses only."""
    session = requests.Session()
    session.trust_env = False
    session.mount("https://", _Transport())
    session.mount("http://", _Transport())
    return session


@of_the_provider
def fetch(url: str, **headers: str) -> dict[str, Any]:
    """Return the JSON object at an address of the provider. Raise RequestException."""
    with checked_session() as session:
        response = session.get(url, headers=headers)
    if response.status_code != HTTPStatus.OK:
        raise Unintelligible(f"{url}: answered {response.status_code}")
    document = response.json()
    if not isinstance(document, dict):
        raise Unintelligible(f"{url}: no JSON object")
    return document


@of_the_provider
def read_config(app: SocialApp) -> dict[str, Any]:
    """Return a provider's description of itself, and our `client_id` there. Raise RequestException."""
    issuer = app.provider_id
    config = fetch(f"{issuer}/.well-known/openid-configuration")
    if str(config.get("issuer", "")).rstrip("/") != issuer:
        raise Unintelligible(_("it names another issuer"))
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        parse_destination(config[name], allow_private=is_private_host(config[name]))
    return {**config, "client_id": app.client_id}
