"""Log-in at OpenID providers with allauth's flow, and the checks that allauth leaves to its users.

allauth brings the state, PKCE and the exchange of the code. Here, the provider's addresses are checked like those of webhooks,
ID tokens need a valid signature and our nonce, and the people of the provider enter only if they were admitted.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from typing import Any, NoReturn

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
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import actions
from approvals.access.providers import decrypt_secret, known_providers
from approvals.access.rate_limits import client_address
from approvals.http import problem
from hitlsite.accounts.admission import NotAdmitted, admit
from hitlsite.accounts.log_out import end_at_request_of_provider, log_out_address
from hitlsite.accounts.tokens import clean, decode_id_token, groups_in, moment, sid_of
from hitlsite.accounts.transport import (
    Unintelligible,
    checked_session,
    fetch,
    of_the_provider,
    read_config,
    start_calls,
)

logger = logging.getLogger(__name__)


class _Client(OpenIDConnectOAuth2Adapter):
    """The provider's addresses, and the identity that it confirms. `state` is the log-in that we started."""

    state: dict[str, Any]

    @cached_property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's description of itself. Raise RequestException."""
        return read_config(self.get_provider().app)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Return our address below PUBLIC_URL: the Host header of a request cannot be trusted."""
        named = [app.key] if app.key else []
        address = reverse("single_sign_on_callback", args=named)
        return f"{settings.PUBLIC_URL}{address}"

    @of_the_provider
    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        data: dict[str, Any] = super().get_access_token_data(*args, **kwargs)
        tokens = {name: data[name] for name in ("access_token", "id_token")}
        if not all(isinstance(token, str) for token in tokens.values()):
            raise TypeError("no tokens")
        return tokens

    @of_the_provider
    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        id_token = kwargs["response"]["id_token"]
        nonce = self.state.get("nonce", "")
        config = self.openid_config
        confirmed = decode_id_token(id_token, config=config, nonce=nonce)
        claims = dict(confirmed)
        groups = groups_in(confirmed)
        if address := config.get("userinfo_endpoint"):
            userinfo = fetch(address, Authorization=f"Bearer {token.token}")
            if userinfo.get("sub") != confirmed["sub"]:
                raise OAuth2Error("userinfo is about someone else")
            if "email" in userinfo:
                # The ID token may confirm another address than this one.
                claims["email_verified"] = False
            claims |= userinfo
            if groups_in(userinfo) is None:
                groups = None
            elif groups is not None:
                groups = groups_in(claims)
        self.state["groups"] = groups
        self.state["log_out"] = log_out_address(config, id_token)
        self.state["sid"] = sid_of(confirmed)
        kept = clean(claims) | {"auth_time": moment(confirmed.get("auth_time"))}
        return self.get_provider().sociallogin_from_response(request, kept)


class _Provider(OpenIDConnectProvider):
    """A provider. Its accounts are kept by issuer and subject."""

    oauth2_adapter_class = _Client

    def serialize(self) -> dict[str, Any]:
        """Return how a log-in that waits for a second factor finds its provider again, as `get_provider` does."""
        return {"id": self.app.provider_id}


class _Callback(OAuth2CallbackView):
    """allauth's end of a log-in, which also hands over what we noted at its beginning, and compares the issuer."""

    def _get_state(
        self, request: HttpRequest, provider: _Provider
    ) -> tuple[dict[str, Any] | None, HttpResponse | None]:
        state, response = super()._get_state(request, provider)
        self.adapter.state = state or {}
        if state is not None and not self._is_of_the_issuer():
            error = OAuth2Error("the answer is of another issuer, or names none")
            response = _failed(request, provider.app, None, error)
        return state, response

    def _is_of_the_issuer(self) -> bool:
        """Return whether the answer names the issuer, as RFC 9207 has it; only one that announces it must do so."""
        config = self.adapter.openid_config
        named = self.request.GET.getlist("iss")
        required = config.get("authorization_response_iss_parameter_supported")
        return not (named or required) or named == [config["issuer"]]


class SocialAccounts(DefaultSocialAccountAdapter):
    """allauth's hooks: the providers that we know; no sign-up page; all errors are pages."""

    def get_requests_session(self) -> requests.Session:
        return checked_session()

    def get_provider(
        self, request: HttpRequest | None, provider: str, client_id: str | None = None
    ) -> _Provider:
        for app in known_providers():
            if app.provider_id == provider:
                app.settings["scope"] = settings.OIDC_SCOPES
                if app.key:
                    app.secret = _secret_of(app)
                return _Provider(request, app=app)
        # An account of an earlier provider.
        raise SocialApp.DoesNotExist

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: _Provider,
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: Mapping[str, Any] | None = None,
    ) -> NoReturn:
        page = _failed(request, provider.app, error, exception)
        raise ImmediateHttpResponse(page)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Let a person in, as their account, or refuse with a page."""
        try:
            admit(request, sociallogin)
        except NotAdmitted as refusal:
            logger.warning("Refused a log-in at the provider: %s", refusal.code)
            app = sociallogin.provider.app
            page = _refusal(
                request,
                app,
                str(refusal) % {"name": app.name, **refusal.details},
                refusal.code,
                reason=refusal.code,
            )
            raise ImmediateHttpResponse(page) from None


def _secret_of(app: SocialApp) -> str:
    try:
        return decrypt_secret(app.settings["secret"])
    except InvalidToken:
        raise Unintelligible(
            _("SECRET_KEY was changed. Enter the client secret again.")
        ) from None


def _failed(
    request: HttpRequest,
    app: SocialApp,
    error: str | None,
    exception: Exception | None,
) -> HttpResponse:
    """Return the page of a log-in that did not come to its end."""
    if isinstance(exception, requests.RequestException):
        return _unavailable(request, app, exception)
    # The response of the provider may be a whole page.
    logger.warning("A log-in at the provider failed: %.300r", exception or error)
    reason = ""
    if exception is not None:
        reason = "invalid"
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
    message %= {"name": app.name}
    return _refusal(request, app, message, "single_sign_on_failed", reason=reason)


def _unavailable(
    request: HttpRequest, app: SocialApp, error: Exception
) -> HttpResponse:
    logger.error("The provider %s failed: %.300s", app.provider_id, error)
    message = _(
        "%(name)s did not answer, or not as Pausepoint expects. Try again in a few minutes. If it happens "
        "again, ask an administrator to look at Administration > System."
    ) % {"name": app.name}
    code = "provider_unavailable"
    status = HTTPStatus.SERVICE_UNAVAILABLE
    return _refusal(request, app, message, code, reason="unavailable", status=status)


def _refusal(
    request: HttpRequest,
    app: SocialApp,
    message: str,
    code: str,
    *,
    reason: str,
    status: HTTPStatus = HTTPStatus.FORBIDDEN,
) -> HttpResponse:
    """Return the page of a log-in that let no one in, which is on record if there is a reason."""
    if reason:
        about = {"provider": app.provider_id, "reason": reason}
        actions.record_failed_login("", address=client_address(request), **about)
    return problem(request, status, message, code)


def begin(request: HttpRequest, app: SocialApp) -> HttpResponse:
    """Redirect to a provider; with `?again`, it must ask for the person's password or factor even if it knows them."""
    start_calls(app)
    again = "again" in request.GET
    nonce = secrets.token_urlsafe()
    parameters = {"nonce": nonce}
    if again:
        parameters |= {"prompt": "login", "max_age": "0"}
    next_url = get_next_redirect_url(request)
    try:
        provider = SocialAccounts().get_provider(request, app.provider_id)
        response: HttpResponse = provider.redirect(
            request,
            AuthProcess.LOGIN,
            next_url=next_url,
            auth_params=parameters,
            nonce=nonce,
            again=again,
        )
    except requests.RequestException as error:
        return _unavailable(request, app, error)
    return response


def finish(request: HttpRequest, app: SocialApp) -> HttpResponse:
    """Log the person in whom the provider sends back, or say why not."""
    start_calls(app)
    client = _Client(request, app.provider_id)
    try:
        response: HttpResponse = _Callback.adapter_view(client)(request)
    except requests.RequestException as error:
        return _unavailable(request, app, error)
    return response


PAGES = {"begin": begin, "finish": finish, "log_out": end_at_request_of_provider}


def provider_problem(app: SocialApp, seconds: float | None = None) -> str:
    """Return why a provider cannot be used at present; "" if it answers as it should."""
    try:
        start_calls(app, seconds)
        read_config(app)
        if app.key:
            _secret_of(app)
    except requests.RequestException as error:
        return str(error)
    return ""
