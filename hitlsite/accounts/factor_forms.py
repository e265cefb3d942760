"""Secrets and forms of second factors: encrypted, each code used once, tries limited, and passkeys checked for their shape."""

from __future__ import annotations

from typing import Any

from allauth.core import context as current
from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as time_codes
from allauth.mfa.webauthn import forms as passkey_forms
from cryptography.fernet import InvalidToken
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals import actions
from approvals.access.factors import SALT
from approvals.access.rate_limits import client_address
from approvals.crypto import encryption

MAX_NAME = 100
#: Most characters of what a browser returns for a passkey, which is kept.
MAX_CREDENTIAL = 16_384
#: The errors of fido2 for parts that are not what they should be.
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class FactorAdapter(DefaultMFAAdapter):
    """allauth's hooks: secrets are encrypted, and passkeys have the names of browsers."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": _("Wrong code, or one that was used already."),
        "refused_passkey": _("This passkey was not accepted. Try again."),
        "too_many_tries": _(
            "Too many wrong codes. Wait 5 minutes, then try again, or use a passkey."
        ),
        "unreadable": _(
            "Your second factor can no longer be read, because SECRET_KEY was changed. Ask an administrator to "
            "reset it."
        ),
    }

    def encrypt(self, text: str) -> str:
        return encryption(SALT).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return encryption(SALT).decrypt(encrypted_text).decode()
        except InvalidToken:
            raise self.validation_error("unreadable") from None

    def build_totp_svg(self, url: str) -> str:
        """Return nothing: the template draws the code of `qr_code`."""
        return ""


def step_of(secret: str, code: str) -> int:
    """Return the time step that a code is of; 0 if it is of none that is accepted now."""
    for step in time_codes.yield_hotp_counters_from_time():
        value = time_codes.format_hotp_value(time_codes.hotp_value(secret, step))
        if compare_user_code(actual=code, expected=value):
            return int(step)
    return 0


def record_failure(person: User | None, factor: str) -> None:
    name = person.get_username() if person else ""
    actions.record_failed_login(
        name, address=client_address(current.request), factor=factor
    )


class OneUse:
    """A form with a code, of which each is accepted once, and tries are limited, in all processes."""

    def clean_code(self) -> str:
        form: Any = self
        if not actions.begin_try(form.user):
            raise FactorAdapter().validation_error("too_many_tries")
        code: str = super().clean_code()  # type: ignore[misc]  # of the other base
        factor: Authenticator = form.authenticator
        step = None
        if factor.type == Authenticator.Type.TOTP:
            step = step_of(FactorAdapter().decrypt(factor.data["secret"]), code)
        if not actions.finish_try(form.user, step=step):
            form._emit_authentication_failed(factor)
            raise FactorAdapter().validation_error("incorrect_code")
        return code


class CodeForm(OneUse, AuthenticateForm):
    """The code of an app, or a recovery code, at log-in."""


class CodeAgainForm(OneUse, ReauthenticateForm):
    """The same for people who are logged in."""


class CredentialField(forms.JSONField):
    """What the browser returns for a passkey: a JSON object. allauth lets other values through, some of them unchecked."""

    def to_python(self, value: str | None) -> Any:
        try:
            credential = super().to_python(value) if _fits(value) else None
        except RecursionError:
            credential = None
        if not isinstance(credential, dict):
            raise FactorAdapter().validation_error("refused_passkey")
        return credential


def _fits(value: str | None) -> bool:
    return value is not None and len(value) <= MAX_CREDENTIAL


class Passkey(forms.Form):
    """A form with a passkey; whatever its parts are, none is an error."""

    user: User | None
    credential = CredentialField(widget=forms.HiddenInput)

    def clean_credential(self) -> Authenticator:
        try:
            credential: Authenticator = super().clean_credential()  # type: ignore[misc]  # of the other base
        except (*MALFORMED, ValidationError):
            record_failure(self.user, "passkey")
            raise FactorAdapter().validation_error("refused_passkey") from None
        return credential


class PasskeyForm(Passkey, passkey_forms.AuthenticateWebAuthnForm):
    """A passkey as the second step of a log-in."""


class PasskeyAgainForm(Passkey, passkey_forms.ReauthenticateWebAuthnForm):
    """The same for people who are logged in."""


class PasskeyAloneForm(Passkey, passkey_forms.LoginWebAuthnForm):
    """A passkey in place of a password."""


class NewPasskeyForm(passkey_forms.AddWebAuthnForm):
    """A new passkey and its name."""

    credential = CredentialField(widget=forms.HiddenInput)
    name = forms.CharField(required=False, max_length=MAX_NAME)

    def clean(self) -> dict[str, Any]:
        try:
            cleaned: dict[str, Any] = super().clean()
        except MALFORMED:
            raise FactorAdapter().validation_error("refused_passkey") from None
        return cleaned
