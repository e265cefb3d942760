"""URLs of log-in, passwords and second factors. Other pages of allauth (sign-up, mail addresses) are not routed."""

from __future__ import annotations

from allauth.account import views as allauth
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.generic import RedirectView

from hitlsite.accounts import provider_pages, views
from hitlsite.accounts.views import factor_page

urlpatterns = [
    path("login/", views.LogIn.as_view(), name="account_login"),
    path("login/sso/", views.single_sign_on, name="single_sign_on"),
    path(
        "login/sso/callback/",
        views.single_sign_on_callback,
        name="single_sign_on_callback",
    ),
    path("login/sso/log-out/", views.log_out_by_provider, name="log_out_by_provider"),
    path("login/sso/<slug:key>/", views.single_sign_on, name="single_sign_on"),
    path(
        "login/sso/<slug:key>/callback/",
        views.single_sign_on_callback,
        name="single_sign_on_callback",
    ),
    path("login/again/", views.LogInAgain.as_view(), name="account_reauthenticate"),
    path(
        "login/factor/",
        login_not_required(factor_page("enter")),
        name="mfa_authenticate",
    ),
    path(
        "login/passkey/",
        login_not_required(factor_page("passkey")),
        name="mfa_login_webauthn",
    ),
    path("settings/sign-in/", factor_page("index"), name="mfa_index"),
    path("settings/sign-in/app/", factor_page("add_app"), name="mfa_activate_totp"),
    path(
        "settings/sign-in/app/remove/",
        factor_page("remove_app"),
        name="mfa_deactivate_totp",
    ),
    path(
        "settings/sign-in/passkey/",
        factor_page("add_passkey"),
        name="mfa_add_webauthn",
    ),
    path(
        "settings/sign-in/passkey/<int:pk>/remove/",
        factor_page("remove_passkey"),
        name="mfa_remove_webauthn",
    ),
    path(
        "settings/sign-in/recovery-codes/",
        factor_page("recovery_codes"),
        name="mfa_view_recovery_codes",
    ),
    path(
        "settings/sign-in/recovery-codes/new/",
        factor_page("new_recovery_codes"),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "login/sso/<slug:key>/log-out/",
        views.log_out_by_provider,
        name="log_out_by_provider",
    ),
    path("settings/single-sign-on/add/", provider_pages.provider, name="add_provider"),
    path(
        "settings/single-sign-on/providers/<int:pk>/",
        provider_pages.provider,
        name="provider",
    ),
    path(
        "settings/single-sign-on/providers/<int:pk>/remove/",
        provider_pages.remove,
        name="remove_provider",
    ),
    path("logout/", views.LogOut.as_view(), name="logout"),
    # Also without a mail server: administrators create such links for people they add.
    path(
        "password/reset/<str:uidb36>/<str:key>/",
        views.SetPasswordFromMail.as_view(),
        name="account_reset_password_from_key",
    ),
    path("password/", views.ChangePassword.as_view(), name="account_change_password"),
    # Before the admin's own log-in page, which has no rate limit.
    path("admin/login/", views.admin_login),
    path(
        "admin/password_change/",
        RedirectView.as_view(pattern_name="account_change_password"),
    ),
]
if settings.HITL_MAIL:
    urlpatterns += [
        path("password/reset/", allauth.password_reset, name="account_reset_password"),
        path(
            "password/reset/sent/",
            allauth.password_reset_done,
            name="account_reset_password_done",
        ),
    ]
