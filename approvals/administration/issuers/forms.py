"""The forms of an issuer of tokens, and of a mapping of its tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.access.callers import DEFAULT_SCOPES, SCOPES
from approvals.access.token_claims import ALGORITHMS, CLAIMS
from approvals.addresses import RefusedAddress, parse_destination
from approvals.administration.forms import combobox
from approvals.administration.issuers.actions import COLUMNS
from approvals.administration.keys.forms import SCOPE_WORDS, active_user
from approvals.models import TokenIssuer
from approvals.models.keys import MAX_CLAIM, MAX_KEY_NAME, NOT_FOR_OTHERS


class IssuerForm(forms.Form):
    """An issuer of access tokens, which stays the same once it is added."""

    name = forms.CharField(label=_("Name"), max_length=100)
    issuer = forms.CharField(
        label=_("Issuer"),
        max_length=MAX_CLAIM,
        help_text=_(
            "Exactly the claim iss of its tokens, such as https://token.actions.githubusercontent.com."
        ),
    )
    audience = forms.CharField(
        label=_("Audience"),
        max_length=MAX_CLAIM,
        help_text=_(
            "Only tokens whose claim aud has this value work here. Use one that no other service accepts."
        ),
    )
    algorithms = forms.MultipleChoiceField(
        label=_("Allowed algorithms"),
        choices=[(name, name) for name in ALGORITHMS],
        initial=["RS256", "ES256"],
        widget=forms.CheckboxSelectMultiple,
    )
    scoped = forms.BooleanField(
        label=_("Tokens must name their scopes"),
        required=False,
        initial=True,
        help_text=_(
            "In scope, scp or roles, such as ask or pausepoint:ask. Otherwise a token has all scopes of its mapping, "
            "as Kubernetes and GitHub Actions need it."
        ),
    )
    any_type = forms.BooleanField(
        label=_("Accept tokens of the type JWT, not only at+jwt"),
        required=False,
        help_text=_("Microsoft Entra, Kubernetes and GitHub Actions send this type."),
    )
    keys_url = forms.CharField(
        label=_("Address of its keys"),
        required=False,
        max_length=500,
        help_text=_(
            "A JWK set. Leave it empty to read the address from /.well-known/openid-configuration."
        ),
    )
    private = forms.BooleanField(
        label=_("May be in a private network"),
        required=False,
        help_text=_("Then its host may also use http://."),
    )

    def __init__(self, data: Any, row: TokenIssuer | None = None) -> None:
        super().__init__(data)
        if row is not None:
            self.initial = {name: getattr(row, name) for name in COLUMNS}
            self.fields["issuer"].disabled = True

    def clean(self) -> dict[str, Any]:
        fields = self.cleaned_data
        for name in ("issuer", "keys_url"):
            if url := fields.get(name):
                try:
                    parse_destination(url, allow_private=fields["private"])
                except RefusedAddress as error:
                    message = _("This address %(problem)s.")
                    refused = ValidationError(message, params={"problem": error})
                    self.add_error(name, refused)
        return fields


class TokenMappingForm(forms.Form):
    """A value of a claim, and the user and scopes of the tokens that have it."""

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_KEY_NAME,
        help_text=_("What the program is, such as “billing agent”."),
    )
    claim = forms.ChoiceField(
        label=_("Claim"), choices=[(name, name) for name in CLAIMS]
    )
    value = forms.CharField(
        label=_("Value"),
        max_length=MAX_CLAIM,
        help_text=_(
            "Exactly as in the token, such as system:serviceaccount:agents:billing."
        ),
    )
    user = forms.CharField(
        label=_("Acts for"),
        max_length=150,
        help_text=_("The username whose rights the program has, best one of its own."),
        widget=combobox("people"),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=[
            (name, SCOPE_WORDS[name]) for name in SCOPES if name not in NOT_FOR_OTHERS
        ],
        initial=DEFAULT_SCOPES,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: Any) -> None:
        super().__init__(data, auto_id="mapping_%s")

    def clean_user(self) -> User:
        return active_user(self.cleaned_data["user"])

    def clean_value(self) -> str:
        value: str = self.cleaned_data["value"]
        if not value.isprintable():
            raise ValidationError(_("Enter text without control characters."))
        return value
