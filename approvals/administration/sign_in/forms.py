"""The form of a group mapping."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.administration.people.queries import teams
from approvals.models import Role
from approvals.models.people import RoleName


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


class MappingForm(forms.Form):
    """A value of the group claim, and the role or team that it gives."""

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
