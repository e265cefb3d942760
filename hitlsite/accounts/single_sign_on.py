"""Log-in at an OpenID provider with allauth's flow, and the checks that allauth leaves to its users.

allauth brings the state, PKCE and the exchange of the code. Here, the provider's addresses are checked like those of webhooks,
ID tokens need a valid signature and our nonce, and the people of the provider enter only if they were admitted.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cached_property, partial
from http import HTTPStatus
from io import BytesIO
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import jwt
import requests
from allauth.account.utils import get_next_redirect_url
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.provider import (
    OpenIDConnectProvider,
)
from allauth.socialaccount.providers.openid_connect.views import (
    OpenIDConnectOAuth2Adapter,
)
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from requests.adapters import BaseAdapter

from approvals import actions
from approvals.access.rate_limits import client_address
from approvals.addresses import parse_destination
from approvals.db.transactions import release_connections
from approvals.http import problem
from approvals.outbound import http_post
from hitlsite.accounts.admission import NotAdmitted, admit

logger = logging.getLogger(__name__)
R = TypeVar("R")

#: For all calls to the provider during one request, so that people see a page within five seconds.
SECONDS = 4.5
MAX_BYTES = 500_000
#: Difference of clocks that tokens are allowed.
LEEWAY = 60
#: Signatures that only the provider can make; a shared secret or none at all is not accepted.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
ALGORITHMS += ["ES256", "ES384", "ES512", "EdDSA"]
TEXTS = ("sub", "email", "name", "preferred_username")
MAX_TEXT = 254
#: allauth's column for `sub` is shorter than the standard's limit of 255.
MAX_SUBJECT = 191
_deadline: ContextVar[float] = ContextVar("deadline")


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
                allow_private=_is_private_host(url),
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


def _is_private_host(url: str) -> bool:
    """Return whether the operator allows this host in a private network, and over plain HTTP."""
    return urlsplit(url).hostname in settings.OIDC_PRIVATE_HOSTS


def _of_the_provider(read: Callable[..., R]) -> Callable[..., R]:
    """Turn the errors of code that reads an answer of the provider into Unintelligible."""
    unreadable = (AttributeError, KeyError, RecursionError, TypeError, ValueError)

    def reading(*args: Any, **kwargs: Any) -> R:
        try:
            return read(*args, **kwargs)
        except unreadable as error:
            raise Unintelligible(f"{type(error).__name__}: {error}") from error

    return reading


class _Client(OpenIDConnectOAuth2Adapter):
    """The provider's addresses, and the identity that it confirms; `nonce` ties the ID token to the log-in that we started."""

    nonce = ""

    @cached_property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's description of itself. Raise RequestException."""
        return self.read_config()

    @_of_the_provider
    def read_config(self) -> dict[str, Any]:
        config = self._fetch(self.get_provider().server_url)
        if config["issuer"].rstrip("/") != settings.OIDC_ISSUER:
            raise ValueError(f"the issuer is {config['issuer']}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            parse_destination(
                config[name], allow_private=_is_private_host(config[name])
            )
        return config

    def _fetch(self, url: str, **headers: str) -> dict[str, Any]:
        with SocialAccounts().get_requests_session() as session:
            response = session.get(url, headers=headers)
        if response.status_code != HTTPStatus.OK:
            raise Unintelligible(f"{url}: answered {response.status_code}")
        document = response.json()
        if not isinstance(document, dict):
            raise Unintelligible(f"{url}: no JSON object")
        return document

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return our address below PUBLIC_URL: the Host header of a request cannot be trusted."""
        return f"{settings.PUBLIC_URL}{reverse('single_sign_on_callback')}"

    @_of_the_provider
    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        data: dict[str, Any] = super().get_access_token_data(*args, **kwargs)
        if not all(
            isinstance(data[name], str) for name in ("access_token", "id_token")
        ):
            raise TypeError("no tokens")
        return data

    def parse_token(self, data: Mapping[str, Any]) -> SocialToken:
        return SocialToken(token=data["access_token"])

    @_of_the_provider
    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        confirmed = self._decode_id_token(app, kwargs["response"]["id_token"])
        claims = dict(confirmed)
        if address := self.openid_config.get("userinfo_endpoint"):
            userinfo = self._fetch(address, Authorization=f"Bearer {token.token}")
            if userinfo.get("sub") != confirmed["sub"]:
                raise OAuth2Error("userinfo is about someone else")
            if "email" in userinfo:
                # The ID token may confirm another address than this one.
                claims["email_verified"] = False
            claims |= userinfo
        clean = _clean(claims) | {"auth_time": _moment(confirmed.get("auth_time"))}
        return self.get_provider().sociallogin_from_response(request, clean)

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """Return the claims of a valid ID token. Raise OAuth2Error."""
        try:
            keys = jwt.PyJWKSet.from_dict(self._fetch(self.openid_config["jwks_uri"]))
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key=_signing_key(keys, jwt.get_unverified_header(id_token)),
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=LEEWAY,
                options={"require": ["iss", "sub", "aud", "exp", "iat"]},
            )
        except jwt.PyJWTError as error:
            raise OAuth2Error(f"ID token: {error}") from error
        if claims.get("azp", app.client_id) != app.client_id:
            raise OAuth2Error("ID token: issued to another client")
        if not self.nonce or claims.get("nonce") != self.nonce:
            raise OAuth2Error("ID token: of another log-in")
        if not 0 < len(claims["sub"]) <= MAX_SUBJECT:
            raise OAuth2Error("ID token: the subject is empty or too long")
        return claims


def _signing_key(keys: jwt.PyJWKSet, header: Mapping[str, Any]) -> jwt.PyJWK:
    """Return the key that the header names, or the only one. A key that is shared with us is none of the provider's own."""
    usable = [key for key in keys.keys if key.key_type != "oct"]
    named = [key for key in usable if key.key_id == header.get("kid")]
    if "kid" not in header and len(usable) == 1:
        named = usable
    if not named:
        raise OAuth2Error("ID token: signed with an unknown key")
    return named[0]


def _clean(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return what we read of a person; values of another type, too long or with control characters are left out."""
    texts = {name: claims.get(name) for name in TEXTS}
    clean: dict[str, Any] = {
        name: text
        for name, text in texts.items()
        if isinstance(text, str) and len(text) <= MAX_TEXT and text.isprintable()
    }
    clean["sub"] = claims["sub"]
    clean["email_verified"] = claims.get("email_verified") in (True, "true")
    return clean


def _moment(value: object) -> int:
    """Return when the provider last asked the person to log in; 0 if it does not say."""
    if isinstance(value, int) and 0 < value < time.time() + LEEWAY:
        return value
    return 0


class _Provider(OpenIDConnectProvider):
    """The provider of the settings. Its accounts are kept by issuer and subject."""

    oauth2_adapter_class = _Client

    def serialize(self) -> dict[str, Any]:
        """Return how a log-in that waits for a second factor finds its provider again, as `get_provider` does."""
        return {"id": self.app.provider_id}


class _Callback(OAuth2CallbackView):
    """allauth's end of a log-in, which also hands over the nonce of its beginning."""

    def _get_state(
        self, request: HttpRequest, provider: _Provider
    ) -> tuple[dict[str, Any] | None, HttpResponse | None]:
        state, response = super()._get_state(request, provider)
        self.adapter.nonce = state["nonce"] if state else ""
        return state, response


class SocialAccounts(DefaultSocialAccountAdapter):
    """allauth's hooks: one provider, from the settings; no sign-up page; all errors are pages."""

    def get_requests_session(self) -> requests.Session:
        session = requests.Session()
        session.trust_env = False
        session.mount("https://", _Transport())
        session.mount("http://", _Transport())
        return session

    def get_provider(
        self, request: HttpRequest | None, provider: str, client_id: str | None = None
    ) -> _Provider:
        if provider != settings.OIDC_ISSUER:
            # An account of an earlier provider.
            raise SocialApp.DoesNotExist
        app = SocialApp(
            provider=_Provider.id,
            provider_id=settings.OIDC_ISSUER,
            name=settings.OIDC_NAME,
            client_id=settings.OIDC_CLIENT_ID,
            secret=settings.OIDC_CLIENT_SECRET,
            settings={
                "server_url": settings.OIDC_ISSUER,
                "oauth_pkce_enabled": True,
                "verified_email": settings.OIDC_VERIFIED_DOMAINS,
            },
        )
        return _Provider(request, app=app)

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: _Provider,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: Mapping[str, Any] | None = None,
    ) -> NoReturn:
        raise ImmediateHttpResponse(_failed(request, error, exception))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Let a person in, as their account, or refuse with a page."""
        try:
            admit(request, sociallogin)
        except NotAdmitted as refusal:
            address = client_address(request)
            details = {"provider": settings.OIDC_ISSUER, "reason": refusal.code}
            actions.record_failed_login("", address=address, **details)
            logger.warning("Refused a log-in at the provider: %s", refusal.code)
            status = HTTPStatus.FORBIDDEN
            page = problem(request, status, str(refusal), refusal.code)
            raise ImmediateHttpResponse(page) from None


def _failed(
    request: HttpRequest, error: str | None, exception: Exception | None
) -> HttpResponse:
    """Return the page of a log-in that did not come to its end."""
    name = {"name": settings.OIDC_NAME}
    if isinstance(exception, requests.RequestException):
        return _unavailable(request, exception)
    # The response of the provider may be a whole page.
    logger.warning("A log-in at the provider failed: %.300r", exception or error)
    if exception is not None:
        details = {"provider": settings.OIDC_ISSUER, "reason": "invalid"}
        actions.record_failed_login("", address=client_address(request), **details)
        message = _(
            "Pausepoint could not verify this log-in with %(name)s. Go to the log-in page, and try again. "
            "If it happens again, ask an administrator to look into the log."
        )
    elif error == AuthError.CANCELLED:
        message = _(
            "You cancelled the log-in with %(name)s. Go to the log-in page to try again."
        )
    else:
        message = _(
            "This log-in with %(name)s is no longer valid. It may have been used already, or taken more than "
            "10 minutes. Go to the log-in page, and try again."
        )
    return problem(
        request, HTTPStatus.FORBIDDEN, message % name, "single_sign_on_failed"
    )


def _unavailable(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.error("The provider %s failed: %.300s", settings.OIDC_ISSUER, error)
    message = _(
        "%(name)s did not answer, or not as Pausepoint expects. Try again in a few minutes. If it happens "
        "again, ask an administrator to look at Administration > System."
    ) % {"name": settings.OIDC_NAME}
    status = HTTPStatus.SERVICE_UNAVAILABLE
    return problem(request, status, message, "provider_unavailable")


def begin(request: HttpRequest, *, again: bool) -> HttpResponse:
    """Redirect to the provider; with `again`, it must ask for the person's password or factor even if it knows them."""
    _deadline.set(time.monotonic() + SECONDS)
    nonce = secrets.token_urlsafe()
    parameters = {"nonce": nonce}
    if again:
        parameters |= {"prompt": "login", "max_age": "0"}
    provider = SocialAccounts().get_provider(request, settings.OIDC_ISSUER)
    next_url = get_next_redirect_url(request)
    start = partial(provider.redirect, request, AuthProcess.LOGIN, next_url=next_url)
    try:
        response: HttpResponse = start(auth_params=parameters, nonce=nonce, again=again)
    except requests.RequestException as error:
        return _unavailable(request, error)
    return response


def finish(request: HttpRequest) -> HttpResponse:
    """Log the person in whom the provider sends back, or say why not."""
    _deadline.set(time.monotonic() + SECONDS)
    client = _Client(request, settings.OIDC_ISSUER)
    try:
        response: HttpResponse = _Callback.adapter_view(client)(request)
    except requests.RequestException as error:
        return _unavailable(request, error)
    return response


def provider_problem(seconds: float) -> str:
    """Return why the provider cannot be used at present; "" if it answers as it should."""
    _deadline.set(time.monotonic() + seconds)
    client = _Client(HttpRequest(), settings.OIDC_ISSUER)
    try:
        client.read_config()
    except requests.RequestException as error:
        return str(error)
    return ""
