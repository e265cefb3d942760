"""Forms of people and teams."""

from __future__ import annotations

from django import forms
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.utils.translation import gettext_lazy as _

from approvals.administration.people.queries import teams
from approvals.models.people import (
    RIGHT_DESCRIPTIONS,
    ROLE_DESCRIPTIONS,
    Right,
    RoleName,
)


class PersonForm(forms.Form):
    """A person's mail address, roles, additional rights and teams."""

    email = forms.EmailField(label=_("Email address"), required=False, max_length=254)
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=lambda: [
            (name.value, f"{name.label}: {ROLE_DESCRIPTIONS[name]}")
            for name in RoleName
        ],
        widget=forms.CheckboxSelectMultiple,
    )
    rights = forms.MultipleChoiceField(
        label=_("Additional rights"),
        required=False,
        choices=lambda: [
            (right.value, f"{right.label}: {RIGHT_DESCRIPTIONS[right]}")
            for right in Right
        ],
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "No role includes these rights. They only extend what the person's roles allow."
        ),
    )
    teams = forms.MultipleChoiceField(
        label=_("Teams"),
        required=False,
        choices=lambda: [
            (str(pk), name)
            for pk, name in teams().order_by("name").values_list("pk", "name")
        ],
        widget=forms.CheckboxSelectMultiple,
    )


class NewPersonForm(PersonForm):
    """A new person; rights and teams are set later."""

    username = UsernameField(
        label=_("Username"),
        max_length=150,
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput,
    )
    field_order = ("username", "email", "roles")
    rights = None  # type: ignore[assignment]  # as below
    teams = None  # type: ignore[assignment]  # Django's way to leave out a field of the base


class TeamForm(forms.Form):
    """The name of a team."""

    name = forms.CharField(label=_("Name"), max_length=150)
