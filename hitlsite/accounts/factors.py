"""Second factors: codes of an app, passkeys and recovery codes, by the flows of allauth with our checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from allauth.account.internal.flows.login import (
    AUTHENTICATION_METHODS_SESSION_KEY,
    record_authentication,
)
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.core.internal import ratelimit
from allauth.mfa import signals
from allauth.mfa.base import views as base
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from allauth.mfa.webauthn.internal import auth as webauthn
from django.contrib.auth.models import User
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.urls import reverse_lazy
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from django.views.generic import View

from approvals import actions
from approvals.access.factors import FACTORS, has_factor
from approvals.access.fresh_sign_in import is_fresh
from approvals.access.rate_limits import client_address
from approvals.access.sessions import signed_in_at
from approvals.actions.locking import lock_standing
from approvals.administration.account_mails import (
    AccountMailReason,
    tell_of_own_change,
)
from approvals.administration.preferences.browsers import describe_browser
from approvals.http import SignedIn, actor_of
from approvals.text.qr import qr_code
from hitlsite.accounts.factor_forms import (
    CodeAgainForm,
    CodeForm,
    NewPasskeyForm,
    PasskeyAgainForm,
    PasskeyAloneForm,
    PasskeyForm,
    record_failure,
    step_of,
)
from hitlsite.accounts.passwords import has_password, refuse_password, takes_password
from hitlsite.views import too_many_requests

Type = Authenticator.Type
NAMES = {
    Type.TOTP: _("authenticator app"),
    Type.WEBAUTHN: _("passkey"),
    Type.RECOVERY_CODES: _("recovery codes"),
}


class EnterFactor(base.AuthenticateView):
    """The second step of a log-in."""

    form_class = CodeForm
    webauthn_form_class = PasskeyForm
    template_name = "account/factor.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        factors = Authenticator.objects.filter(user_id=self.stage.login.user.pk)
        types = set(factors.values_list("type", flat=True))
        options = context["js_data"]["request_options"]
        return context | {
            "has_app": Type.TOTP in types,
            "has_passkey": Type.WEBAUTHN in types,
            "options": _as_json(options),
            "next": self.request.POST.get("next") or self.request.GET.get("next", ""),
        }


class ProveFactor(EnterFactor):
    """Ask a person who is logged in for a factor, as some decisions require, and return to the previous page."""

    form_class = CodeAgainForm
    webauthn_form_class = PasskeyAgainForm

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        # In place of the log-in that the other view looks for.
        self.stage = SimpleNamespace(login=Login(user=request.user), exit=self._leave)
        self.form = self._build_forms()
        return View.dispatch(self, request, *args, **kwargs)

    def _leave(self) -> HttpResponse:
        return redirect(get_next_redirect_url(self.request) or "approvals:dashboard")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"again": True}


class LogInWithPasskey(passkeys.LoginWebAuthnView):
    """Log in with a passkey alone. GET: the challenge for it."""

    form_class = PasskeyAloneForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # The challenge is kept in a session, of which nobody gets many.
        if not ratelimit.consume(
            request, app="allauth.mfa", action="webauthn_login", limit_get=True
        ):
            return too_many_requests(request)
        options = _as_json(webauthn.begin_authentication())
        return HttpResponse(options, content_type="application/json")

    def form_valid(self, form: Any) -> HttpResponse:
        factor = form.cleaned_data["credential"]
        if not takes_password(factor.user.get_username()):
            return refuse_password(self.request)
        login = Login(
            user=factor.user, redirect_url=get_next_redirect_url(self.request)
        )
        response: HttpResponse = passkeys.flows.perform_passwordless_login(
            self.request, factor, login
        )
        return response


class Own:
    """Pages of one's own settings."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)  # type: ignore[misc]  # of the other base
        return context | {"here": "own-sign-in"}


class Fresh(Own):
    """Pages that change factors: they need a fresh log-in. A form without one is refused, and not kept."""

    def dispatch(
        self, request: SignedIn, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        if not _may_change_factors(request):
            page = request.path if request.method == "GET" else resolve_url("mfa_index")
            again = resolve_url("account_reauthenticate")
            return redirect(f"{again}?{urlencode({'next': page})}")
        respond = partial(super().dispatch, request, *args, **kwargs)  # type: ignore[misc]  # of the other base
        return _changing(request, respond) if request.method == "POST" else respond()


def _may_change_factors(request: SignedIn) -> bool:
    """Return whether the log-in is fresh. People without a password or factor, whose provider may not state when it asked them,
    can add their first factor soon after they have come from there.
    """
    person = request.user
    at = signed_in_at(request.session)
    if not is_fresh(at) and not has_password(person):
        at = None if has_factor(person.pk) else person.last_login
    return is_fresh(at)


class PostOnly(Fresh):
    """What a button on the page of factors does."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("mfa_index")

    def form_invalid(self, form: Any) -> HttpResponse:
        return redirect("mfa_index")


class SignIn(Own, base.IndexView):
    """A person's factors."""

    template_name = "account/sign_in.html"


class AddApp(Fresh, totp.ActivateTOTPView):
    """Show the QR code for an app, and take its first code."""

    template_name = "account/add_app.html"

    def form_valid(self, form: Any) -> HttpResponse:
        step = step_of(form.secret, form.cleaned_data["code"])
        response: HttpResponse = super().form_valid(form)
        # Nobody who saw this code may log in with it.
        actions.finish_try(self.request.user, step=step)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return context | {
            "qr": qr_code(context["totp_url"]),
            "secret": context["form"].secret,
        }


class RemoveApp(PostOnly, totp.DeactivateTOTPView):
    """Remove the app (POST)."""


class AddPasskey(Fresh, passkeys.AddWebAuthnView):
    """Add a passkey, which the browser makes."""

    form_class = NewPasskeyForm
    template_name = "account/add_passkey.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        options = webauthn.begin_registration(self.request.user, passwordless=True)
        name = describe_browser(self.request.headers.get("User-Agent", ""))
        return context | {"options": _as_json(options), "name": name}


class RemovePasskey(PostOnly, passkeys.RemoveWebAuthnView):
    """Remove a passkey (POST)."""

    success_url = reverse_lazy("mfa_index")


class RecoveryCodes(Fresh, recovery_codes.ViewRecoveryCodesView):
    """Show the recovery codes, once."""

    template_name = "account/recovery_codes.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        return context | {"codes": "\n".join(context["unused_codes"])}


class NewRecoveryCodes(PostOnly, recovery_codes.GenerateRecoveryCodesView):
    """Replace the recovery codes (POST)."""


def _as_json(options: Mapping[str, Any]) -> str:
    """Return the options for the browser as `parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON` read them."""
    return json.dumps(options["publicKey"], default=dict)


@receiver(signals.authentication_failed)
def _on_failure(user: User, **kwargs: Any) -> None:
    record_failure(user, "code")


def _changing(
    request: SignedIn, respond: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    """Return the response of a form that changes the person's factors; what follows from the change is in its transaction.

    The signals of allauth come after the commit, and are lost with a process that dies there. Raise NotAuthenticated if the
    session has ended meanwhile, as it does when the person changes a factor in another one.
    """
    with transaction.atomic():
        lock_standing(actor_of(request))
        before = _factors_of(request.user)
        response = respond()
        after = _factors_of(request.user)
        if before != after:
            _record_changes(request, before, after)
    return response


def _factors_of(person: User) -> dict[int, str]:
    rows = Authenticator.objects.filter(user=person).order_by("pk")
    return dict(rows.values_list("pk", "type"))


def _record_changes(
    request: SignedIn, before: Mapping[int, str], after: Mapping[int, str]
) -> None:
    """Record which factors were added and removed, mail the person, and end their other sessions."""
    added = {pk: kind for pk, kind in after.items() if pk not in before}
    gone = {pk: kind for pk, kind in before.items() if pk not in after}
    for pk, kind in added.items():
        if kind in FACTORS:
            # From now on, only factors count as a fresh log-in.
            record_authentication(request, request.user, "mfa", id=pk, type=kind)
        _record(request, "factor.added", AccountMailReason.FACTOR_ADDED, kind)
    for kind in gone.values():
        # New recovery codes replace the old ones.
        if kind not in added.values():
            _record(request, "factor.removed", AccountMailReason.FACTOR_REMOVED, kind)
    if not after:
        records = request.session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
        request.session[AUTHENTICATION_METHODS_SESSION_KEY] = [
            each for each in records if each["method"] != "mfa"
        ]
    kept = request.session.session_key or ""
    actions.end_sessions(request.user.pk, actions.EndReason.FACTORS, kept=kept)


def _record(
    request: SignedIn, event: str, reason: AccountMailReason, kind: str
) -> None:
    address = client_address(request)
    actions.record_factor(event, request.user, factor=kind, address=address)
    tell_of_own_change(request.user, reason, str(NAMES[Type(kind)]))
