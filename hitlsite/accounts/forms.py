"""Forms of log-in and password reset, where allauth's do more than this site needs."""

from __future__ import annotations

from typing import Any

from allauth.account import forms
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest, HttpResponse

from approvals.administration.people.invitations import is_invited
from hitlsite.accounts.adapter import limit_session
from hitlsite.accounts.passwords import takes_password


class LoginForm(forms.LoginForm):
    """Username and password, in fields with the names under which browsers have stored them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Normalizes the input like usernames on creation.
        self.fields["login"] = UsernameField(
            max_length=User._meta.get_field("username").max_length
        )

    def login(self, request: HttpRequest, redirect_url: str | None) -> HttpResponse:
        response: HttpResponse = super().login(request, redirect_url)
        # allauth has just made the end of the session move with each use.
        if request.user.is_authenticated:
            limit_session(request, request.user)
        return response

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)


class _Tokens:
    """Accept both password-reset links and invitations."""

    def check_token(self, user: User, token: str) -> bool:
        return default_token_generator.check_token(user, token) or is_invited(
            user, token
        )


class UserTokenForm(forms.UserTokenForm):
    """Check the link for setting a password. Unknown, used, cancelled and expired ones are refused in the same way."""

    token_generator = _Tokens()


class ResetPasswordForm(forms.ResetPasswordForm):
    """Find people by their current address only: allauth also remembers earlier ones."""

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        users = User.objects.filter(email__iexact=email, is_active=True)
        # A database may treat more letters as equal than a mail server does.
        self.users = [
            user
            for user in users
            if user.email.lower() == email
            and user.has_usable_password()
            and takes_password(user.get_username())
        ]
        return email
