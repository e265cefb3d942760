"""Pages of log-in and passwords: allauth's views with our forms."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from allauth.account import views
from allauth.core.internal import ratelimit
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from approvals import actions
from approvals.access.factors import has_factor
from approvals.access.providers import known_providers
from approvals.http import SignedIn, View, problem, refusals_as_pages
from hitlsite.accounts.adapter import AT_PROVIDER
from hitlsite.accounts.passwords import (
    has_password,
    refuse_password,
    takes_password,
)
from hitlsite.views import too_many_requests


class LogIn(views.LoginView):
    """Ask for username and password, or offer to log in at a provider."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context["providers"] = known_providers()
        context["only_single_sign_on"] = settings.OIDC_ONLY
        return context


def _at_provider(name: str, action: str = "single_sign_on") -> View[...]:
    """Return a page of a provider, whose libraries are loaded by the first log-in; without `key`, of that of the settings."""

    @login_not_required
    def page(request: HttpRequest, key: str = "") -> HttpResponse:
        app = next((each for each in known_providers() if each.key == key), None)
        if app is None:
            raise Http404
        if not ratelimit.consume(
            request, app="allauth.account", action=action, limit_get=True
        ):
            return too_many_requests(request)
        from hitlsite.accounts import single_sign_on as flow  # noqa: PLC0415 - loaded late

        response: HttpResponse = flow.PAGES[name](request, app)
        return response

    return page


single_sign_on = require_GET(_at_provider("begin"))
single_sign_on_callback = require_GET(_at_provider("finish"))
log_out_by_provider = csrf_exempt(
    require_POST(_at_provider("log_out", "log_out_by_provider"))
)


class LogOut(LogoutView):
    """Log out here, and then at the provider where the person logged in."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        at_provider = request.session.get(AT_PROVIDER, {})
        response: HttpResponse = super().post(request, *args, **kwargs)
        if not at_provider.get("address"):
            return response
        # Not a redirect: with `form-action 'self'`, browsers stop a form that leads to another site.
        return render(request, "account/log_out_at_provider.html", at_provider)


def factor_page(name: str) -> View[...]:
    """Return a page of second factors by the name of its class, whose library is loaded by the first log-in."""

    @refusals_as_pages
    def page(request: SignedIn, *args: Any, **kwargs: Any) -> HttpResponse:
        from hitlsite.accounts import factors  # noqa: PLC0415 - loaded late

        view = getattr(factors, name).as_view()
        response: HttpResponse = view(request, *args, **kwargs)
        return response

    return page


class OwnPassword:
    """Pages for people who have a password here."""

    #: The text for everyone else.
    no_password: Promise

    def dispatch(
        self, request: SignedIn, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        if not has_password(request.user):
            if settings.OIDC_ONLY:
                return refuse_password(request)
            message = str(self.no_password)
            return problem(request, HTTPStatus.FORBIDDEN, message, "no_password")
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]  # of the other base
        return response


class LogInAgain(OwnPassword, views.ReauthenticateView):
    """Ask for the user's factor or password again, as some decisions require, and return to the previous page."""

    no_password = _("Your account has no password here. Log out, and log in again.")

    def dispatch(
        self, request: SignedIn, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        if has_factor(request.user.pk):
            return factor_page("ProveFactor")(request)
        at_provider = request.session.get(AT_PROVIDER, {})
        if (at_provider or settings.OIDC_ISSUER) and not has_password(request.user):
            key = at_provider.get("key")
            start = reverse("single_sign_on", args=[key] if key else [])
            query = {"again": "1", "next": request.GET.get("next", "")}
            return redirect(f"{start}?{urlencode(query)}")
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response


class ChangePassword(OwnPassword, views.PasswordChangeView):
    """Change one's own password."""

    no_password = _(
        "Your account has no password here. Ask an administrator to set one."
    )

    def form_valid(self, form: Any) -> HttpResponseBase:
        request = self.request
        before = request.session.session_key or ""
        response: HttpResponseBase = super().form_valid(form)
        session_key = request.session.session_key or ""
        actions.continue_session(before, under=session_key)
        actions.end_sessions(
            request.user.pk, actions.EndReason.PASSWORD, kept=session_key
        )
        return response


class SetPasswordFromMail(views.PasswordResetFromKeyView):
    """Set a password with the link from a mail, then show the log-in page."""

    success_url = reverse_lazy("account_login")

    def get(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response: HttpResponseBase = super().get(*args, **kwargs)
        return self._refusal() or response

    def post(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return self._refusal() or super().post(*args, **kwargs)

    def _refusal(self) -> HttpResponse | None:
        user = self.reset_user
        if user is None or takes_password(user.get_username()):
            return None
        return refuse_password(self.request)

    @property
    def invited(self) -> bool:
        """Whether the person has no password yet."""
        return self.reset_user is not None and not self.reset_user.has_usable_password()


@login_not_required
def admin_login(request: HttpRequest) -> HttpResponse:
    """Redirect to the log-in page: the admin's own has no rate limit."""
    if request.user.is_authenticated and not admin.site.has_permission(request):
        raise PermissionDenied
    return redirect_to_login(
        request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
    )
