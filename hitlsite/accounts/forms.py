"""The forms of log-in and password reset, where allauth's would do more than this site wants."""

from __future__ import annotations

from typing import Any

from allauth.account import forms
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User


class LoginForm(forms.LoginForm):
    """Username and password, under the names that browsers have stored them by."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Normalizes what is typed as usernames are normalized when they are made.
        self.fields["login"] = UsernameField(max_length=User._meta.get_field("username").max_length)

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)


class ResetPasswordForm(forms.ResetPasswordForm):
    """Finds people by the address in their account, and by no address they had before (allauth remembers those)."""

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        found = User.objects.filter(email__iexact=email, is_active=True)
        # The database may take more letters for equal than a mail server does.
        self.users = [user for user in found if user.email.lower() == email and user.has_usable_password()]
        return email
