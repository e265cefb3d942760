"""The allauth adapter: rate limits, audit entries and links in mails."""

from __future__ import annotations

import logging
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from approvals import actions
from approvals.access import rate_limits
from approvals.access.sessions import limit_of
from approvals.administration.account_mails import (
    AccountMailReason,
    tell_of_own_change,
)
from approvals.http import problem
from approvals.outbound.mailing import AUTOMATIC, send_later
from hitlsite.accounts.passwords import takes_password
from hitlsite.views import too_many_requests

logger = logging.getLogger(__name__)

#: The member of a session that began at a provider: which one, and where it ends its own, with the ID token.
AT_PROVIDER = "at_provider"


class Accounts(DefaultAccountAdapter):
    """allauth's hooks: no sign-up, and all responses are pages."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": _("Wrong username or password."),
        "enter_current_password": _("Wrong current password."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def is_ajax(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the client address used by all rate limits."""
        return rate_limits.client_address(request)

    def is_safe_url(self, url: str) -> bool:
        """Return whether `next` stays on this host and does not lead from HTTPS to HTTP."""
        hosts = {self.request.get_host()}
        secure = self.request.is_secure()
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts=hosts, require_https=secure
        )

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        """Count failures per account *and* address, so that no one can lock other people out deliberately."""
        return f"{ratelimit.get_ip(request)} {credentials['username'].lower()}"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            logger.warning(
                "Refused to check a password from %s: too many were wrong",
                self.get_client_ip(request),
            )
            raise ImmediateHttpResponse(too_many_requests(request)) from None

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        if takes_password(credentials["username"]):
            user: User | None = super().authenticate(request, **credentials)
            return user
        self.pre_authenticate(request, **credentials)
        # As long as a check takes, so that the time does not tell which account has a password.
        make_password(credentials["password"])
        self.authentication_failed(request, **credentials)
        return None

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        address = self.get_client_ip(request)
        name = actions.record_failed_login(credentials["username"], address=address)
        logger.warning(
            "Failed log-in as %s from %s",
            repr(name) if name else "no known user",
            address,
        )

    def login(self, request: HttpRequest, user: User) -> None:
        last_login = user.last_login
        super().login(request, user)
        address = self.get_client_ip(request)
        if actions.note_address(user, address, last_login=last_login):
            if last_login is not None:
                name = user.get_username()
                logger.warning("Log-in as %r from a new address, %s", name, address)
            tell_of_own_change(user, AccountMailReason.NEW_ADDRESS, address)

    def post_login(
        self, request: HttpRequest, user: User, **kwargs: Any
    ) -> HttpResponse:
        address = self.get_client_ip(request)
        login = (kwargs["signal_kwargs"] or {}).get("sociallogin")
        ids = _note_provider(request, login) if login else None
        details = {"provider": ids["issuer"]} if ids else {}
        details |= _factor_of(request)
        actions.record_login(user, address=address, **details)
        logger.info("Log-in as %r from %s", user.get_username(), address)
        session_key = request.session.session_key or ""
        browser = request.headers.get("User-Agent", "")
        actions.record_session(
            user, session_key, address=address, browser=browser, at_provider=ids
        )
        limit_session(request, user)
        response: HttpResponse = super().post_login(request, user, **kwargs)
        return response

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        message = str(
            _("Your account is deactivated. Ask an administrator to activate it.")
        )
        return problem(request, HTTPStatus.FORBIDDEN, message, "deactivated")

    def set_password(self, user: User, password: str) -> None:
        address = self.get_client_ip(self.request)
        reset = (
            self.request.resolver_match.url_name == "account_reset_password_from_key"
        )
        # Hash before the transaction: on SQLite, hashing inside would block all writers.
        user.set_password(password)
        actions.store_password(user, reset=reset, address=address)
        logger.info("New password of %r from %s", user.get_username(), address)
        if reset:
            actions.end_sessions(user.pk, actions.EndReason.PASSWORD)
            self._reset_failures_of(user)

    def _reset_failures_of(self, user: User) -> None:
        """Reset the count of failed log-ins, so that earlier attempts with the forgotten password do not block the user."""
        action = "login_failed"
        limits = app_settings.RATE_LIMITS.get(action, "").split(",")
        # Attempts from this address on other accounts still count: otherwise a reset would allow unlimited attempts on them.
        per_account = ",".join(limit for limit in limits if limit.endswith("/key"))
        ratelimit.clear(
            self.request,
            app="allauth.account",
            action=action,
            config={action: per_account},
            key=self._get_login_attempts_cache_key(
                self.request, username=user.get_username()
            ),
        )

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return resolve_url(settings.LOGIN_REDIRECT_URL)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the link below PUBLIC_URL, as for all links in mails: the Host header of a request cannot be trusted."""
        user, _dash, token = key.partition("-")
        address = reverse(
            "account_reset_password_from_key", kwargs={"uidb36": user, "key": token}
        )
        return f"{settings.PUBLIC_URL}{address}"

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        send_later(self.render_mail(template_prefix, email, context, headers=AUTOMATIC))


def limit_session(request: HttpRequest, person: User) -> None:
    """End the session some hours from now, however often it is stored again until then, and even if no process ends old ones."""
    hours = limit_of(settings.SESSION_HOURS, person)
    request.session.set_expiry(timezone.now() + timedelta(hours=hours))


def _factor_of(request: HttpRequest) -> dict[str, str]:
    """Return what the record says of the factor of a log-in, or of the passkey that replaced the password."""
    last = request.session[AUTHENTICATION_METHODS_SESSION_KEY][-1]
    if last["method"] != "mfa":
        return {}
    return {"by": "passkey"} if last.get("passwordless") else {"factor": last["type"]}


def _note_provider(request: HttpRequest, login: SocialLogin) -> dict[str, str]:
    """Note in the session when the provider checked the person, and where it ends its own session; return the latter's ids."""
    # allauth notes when the person came back, even if the provider asked them for nothing.
    for record in request.session[AUTHENTICATION_METHODS_SESSION_KEY]:
        if record["method"] == "socialaccount":
            record["at"] = login.account.extra_data["auth_time"]
    app = login.provider.app
    at_provider = {"name": app.name, "key": app.key, "address": login.state["log_out"]}
    request.session[AT_PROVIDER] = at_provider
    account = login.account
    sid = login.state["sid"]
    return {"issuer": account.provider, "subject": account.uid, "sid": sid}
