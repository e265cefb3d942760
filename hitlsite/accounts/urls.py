"""URLs of log-in, passwords and second factors. Other pages of allauth (sign-up, mail addresses) are not routed."""

from __future__ import annotations

from allauth.account import views as allauth
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from django.views.generic import RedirectView

from hitlsite.accounts import provider_pages, views
from hitlsite.accounts.views import factor_page

#: The address of each page of one's own factors, its class, and allauth's name of it.
FACTOR_PAGES = (
    ("", "SignIn", "mfa_index"),
    ("app/", "AddApp", "mfa_activate_totp"),
    ("app/remove/", "RemoveApp", "mfa_deactivate_totp"),
    ("passkey/", "AddPasskey", "mfa_add_webauthn"),
    ("passkey/<int:pk>/remove/", "RemovePasskey", "mfa_remove_webauthn"),
    ("recovery-codes/", "RecoveryCodes", "mfa_view_recovery_codes"),
    ("recovery-codes/new/", "NewRecoveryCodes", "mfa_generate_recovery_codes"),
)
#: At the provider of the settings, and at each other one.
single_sign_on = [
    path("", views.single_sign_on, name="single_sign_on"),
    path("callback/", views.single_sign_on_callback, name="single_sign_on_callback"),
    path("log-out/", views.log_out_by_provider, name="log_out_by_provider"),
]
urlpatterns = [
    path("login/", views.LogIn.as_view(), name="account_login"),
    path("login/sso/", include(single_sign_on)),
    path("login/with/<slug:key>/", include(single_sign_on)),
    path("login/again/", views.LogInAgain.as_view(), name="account_reauthenticate"),
    path(
        "login/factor/",
        login_not_required(factor_page("EnterFactor")),
        name="mfa_authenticate",
    ),
    path(
        "login/passkey/",
        login_not_required(factor_page("LogInWithPasskey")),
        name="mfa_login_webauthn",
    ),
    *(
        path(f"settings/sign-in/{address}", factor_page(page), name=name)
        for address, page, name in FACTOR_PAGES
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
