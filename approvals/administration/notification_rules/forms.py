"""The form of a notification rule."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.administration.forms import combobox
from approvals.administration.people.queries import roles_by_group
from approvals.models import ChannelConnection
from approvals.models.subscriptions import NotificationRule, channel_in
from approvals.text.text import visible


def group_choices() -> list[tuple[str, str]]:
    """Return the teams by name and the roles by label."""
    roles = roles_by_group()
    groups = Group.objects.order_by("name").values_list("pk", "name")
    return [
        ("", str(_("Choose a team or role"))),
        *((str(pk), roles.get(pk) or visible(name)) for pk, name in groups),
    ]


class RelayField(forms.ModelChoiceField):  # type: ignore[type-arg]  # generic to the type checker only
    """A relay, by its name."""

    def label_from_instance(self, obj: ChannelConnection) -> str:
        return obj.team_name


class NotificationRuleForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """Recipients and subjects of notifications."""

    person = forms.CharField(
        label=_("Person"),
        required=False,
        max_length=150,
        help_text=_("A username."),
        widget=combobox("people"),
    )
    group = forms.ChoiceField(
        label=_("or a team or role"), required=False, choices=group_choices
    )

    class Meta:
        model = NotificationRule
        fields = (
            "person",
            "group",
            "route",
            "slack_url",
            "channel_id",
            "shows",
            "relay",
            "min_priority",
            "tool_name",
            "above_amount",
            "to_assignee",
            "active",
        )
        field_classes: ClassVar = {"relay": RelayField}
        labels: ClassVar = {"route": _("How"), "active": _("Active")}
        widgets: ClassVar = {"tool_name": combobox("tools")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.person:
            self.initial["person"] = self.instance.person.get_username()

    def clean_person(self) -> User | None:
        name = self.cleaned_data["person"]
        person = (
            User.objects.filter(username=name, is_active=True).first() if name else None
        )
        if name and person is None:
            raise ValidationError(_("No active person has this username."))
        return person

    def clean_channel_id(self) -> str:
        return channel_in(self.cleaned_data["channel_id"])

    def clean_group(self) -> Group | None:
        chosen = self.cleaned_data["group"]
        return Group.objects.get(pk=chosen) if chosen else None
