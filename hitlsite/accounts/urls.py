"""URLs of log-in and passwords. Other pages of allauth (sign-up, mail addresses) are not routed."""

from __future__ import annotations

from allauth.account import views as allauth
from django.conf import settings
from django.urls import path
from django.views.generic import RedirectView

from hitlsite.accounts import views

urlpatterns = [
    path("login/", views.LogIn.as_view(), name="account_login"),
    path("login/sso/", views.single_sign_on, name="single_sign_on"),
    path(
        "login/sso/callback/",
        views.single_sign_on_callback,
        name="single_sign_on_callback",
    ),
    path("login/again/", views.LogInAgain.as_view(), name="account_reauthenticate"),
    path("login/sso/log-out/", views.log_out_by_provider, name="log_out_by_provider"),
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
