"""The forms of a provider and of a group mapping."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.access.callers import SCIM
from approvals.access.providers import known_providers
from approvals.administration.people.queries import teams
from approvals.models import Role
from approvals.models.people import RoleName
from approvals.text.text import visible


def _choices() -> list[Any]:
    roles = {role.name: role.group_id for role in Role.objects.all()}
    named = teams().order_by("name").values_list("pk", "name")
    return [
        ("", "---------"),
        (
            _("Roles"),
            [(roles[name], name.label) for name in RoleName if name in roles],
        ),
        (_("Teams"), list(named)),
    ]


def _issuers() -> list[tuple[str, str]]:
    providers = [(app.provider_id, visible(app.name)) for app in known_providers()]
    return [*providers, (SCIM, "SCIM")]


class ProviderForm(forms.Form):
    """An OpenID provider. Its issuer stays, and its secret is never shown."""

    name = forms.CharField(
        label=_("Name"),
        max_length=40,
        help_text=_("What the button on the log-in page says: Continue with…"),
    )
    issuer = forms.CharField(
        label=_("Issuer"),
        max_length=200,
        help_text=_("Such as https://login.example.org/realms/corp."),
    )
    slug = forms.SlugField(label=_("Short name in addresses"), max_length=40)
    client_id = forms.CharField(label=_("Client ID"), max_length=191)
    secret = forms.CharField(
        label=_("Client secret"),
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    link_by_email = forms.BooleanField(
        label=_("Open existing accounts by confirmed email address"),
        required=False,
        help_text=_(
            "Whoever has the address at this provider gets the account. Only for a provider of your own."
        ),
    )
    private = forms.BooleanField(
        label=_("May be in a private network"),
        required=False,
        help_text=_("Then its host may also use http://."),
    )

    def __init__(self, data: Any, stored: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=stored)
        if stored is not None:
            self.fields["issuer"].disabled = True
            self.fields["slug"].disabled = True
            self.fields["secret"].required = False
            self.fields["secret"].help_text = _(
                "Leave it empty to keep the present one."
            )

    def clean_issuer(self) -> str:
        issuer: str = self.cleaned_data["issuer"]
        return issuer.rstrip("/")


class MappingForm(forms.Form):
    """A value of the group claim of a provider, and the role or team that it gives."""

    issuer = forms.ChoiceField(label=_("Provider"), choices=_issuers)
    value = forms.CharField(
        label=_("Group at the provider"),
        max_length=254,
        help_text=_(
            "Exactly as the provider sends it: a name, a path such as /finance, or for Microsoft Entra the object ID."
        ),
    )
    group = forms.TypedChoiceField(
        label=_("Role or team in Pausepoint"), choices=_choices, coerce=int
    )
