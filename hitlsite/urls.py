"""Addresses, built from the installed apps: the desk is a whole product without the chats."""

from __future__ import annotations

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

urlpatterns = [
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    path("", include("approvals.urls")),
]
if apps.is_installed("chats"):
    urlpatterns.append(path("chats/", include("chats.urls")))

handler400 = "hitlsite.views.bad_request"
handler403 = "hitlsite.views.permission_denied"
handler404 = "hitlsite.views.page_not_found"
handler500 = "hitlsite.views.server_error"
