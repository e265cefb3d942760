"""The forms of settings. They only read and check what was sent; actions store it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.access.keys import SCOPES
from approvals.models.keys import MAX_KEY_NAME
from approvals.models.people import ROLE_DESCRIPTIONS, RoleName
from approvals.models.preferences import MAX_HOLD, Preferences
from approvals.models.subscriptions import NotificationRule, WebhookEndpoint
from approvals.outbound.outbox import EVENTS
from approvals.queries.administration.people import roles_by_group, teams
from approvals.queries.languages import name_of_language
from approvals.text.text import visible

#: What each scope of a key allows, for people.
SCOPE_WORDS = {
    "ask": _("ask: make requests and report results"),
    "read": _("read: read requests and their decisions"),
    "decide": _("decide: decide requests as this person, but never its own"),
    "audit": _("audit: read the audit log"),
}
LIFETIMES = {"": _("Never"), "7": _("In 7 days"), "30": _("In 30 days"), "90": _("In 90 days"), "365": _("In a year")}


def zone_choices() -> list[tuple[str, str]]:
    """Return the time zones, without those that have the sign of their offset the other way round."""
    return [(name, name) for name in sorted(available_timezones()) if not name.startswith("Etc/")]


def language_choices() -> list[tuple[str, str]]:
    """Return the languages that can be chosen, each under its own name."""
    own = name_of_language(settings.LANGUAGE_CODE)
    others = [(code, name_of_language(code)) for code in settings.HITL_LANGUAGES]
    return [("", gettext("As this installation (%(language)s)") % {"language": own}), *others]


def combobox(kind: str) -> forms.TextInput:
    """Return a field that suggests names while a person types; see `static/pausepoint/combobox.js`."""
    source = reverse_lazy("approvals:suggested", args=[kind])
    attributes = {"data-combobox": "", "data-source": source, "autocomplete": "off", "autocapitalize": "none"}
    return forms.TextInput(attrs=attributes)


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """How pages look and work."""

    hold_seconds = forms.IntegerField(
        label=_("Hold my decisions for (seconds)"),
        min_value=0,
        max_value=MAX_HOLD,
        help_text=_(
            "You can undo a decision during this time. 0 sends decisions at once. Critical requests are never held."
        ),
    )

    language = forms.ChoiceField(label=_("Language"), required=False, choices=language_choices)

    class Meta:
        model = Preferences
        fields = ("language", "theme", "density", "split", "open_next", "shortcuts", "hold_seconds")
        widgets: ClassVar = {"theme": forms.RadioSelect, "density": forms.RadioSelect}

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if len(settings.HITL_LANGUAGES) < 2:
            del self.fields["language"]


class QuietHoursForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """When messages wait."""

    time_zone = forms.ChoiceField(label=_("Time zone"), choices=zone_choices)

    class Meta:
        model = Preferences
        fields = ("quiet_from", "quiet_until", "time_zone")
        widgets: ClassVar = {
            name: forms.TimeInput(attrs={"type": "time"}, format="%H:%M") for name in ("quiet_from", "quiet_until")
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if (cleaned.get("quiet_from") is None) != (cleaned.get("quiet_until") is None) and not self.errors:
            raise ValidationError(_("Enter both times, or clear both to have no quiet hours."))
        return cleaned


class PersonForm(forms.Form):
    """A person's mail address, roles and teams."""

    email = forms.EmailField(label=_("Email address"), required=False, max_length=254)
    roles = forms.MultipleChoiceField(
        label=_("Roles"),
        required=False,
        choices=lambda: [(name.value, f"{name.label}: {ROLE_DESCRIPTIONS[name]}") for name in RoleName],
        widget=forms.CheckboxSelectMultiple,
    )
    teams = forms.MultipleChoiceField(
        label=_("Teams"),
        required=False,
        choices=lambda: [(str(pk), name) for pk, name in teams().order_by("name").values_list("pk", "name")],
        widget=forms.CheckboxSelectMultiple,
    )


class NewPersonForm(PersonForm):
    """A new person; teams come later."""

    username = UsernameField(
        label=_("Username"), max_length=150, validators=[UnicodeUsernameValidator()], widget=forms.TextInput
    )
    field_order = ("username", "email", "roles")
    teams = None  # type: ignore[assignment]  # Django's way to leave out a field of the base


class TeamForm(forms.Form):
    """The name of a team."""

    name = forms.CharField(label=_("Name"), max_length=150)


class KeyForm(forms.Form):
    """A new API key."""

    name = forms.CharField(
        label=_("Name"), max_length=MAX_KEY_NAME, help_text=_("What the key is for, such as “billing agent”.")
    )
    user = forms.CharField(
        label=_("Acts for"),
        max_length=150,
        help_text=_("The username of the person whose rights the key has."),
        widget=combobox("people"),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"), choices=[(name, SCOPE_WORDS[name]) for name in SCOPES], widget=forms.CheckboxSelectMultiple
    )
    lifetime = forms.ChoiceField(label=_("Expires"), choices=list(LIFETIMES.items()), required=False)

    def clean_user(self) -> User:
        found = User.objects.filter(username=self.cleaned_data["user"], is_active=True).first()
        if found is None:
            raise ValidationError(_("No active person has this username."))
        return found

    @property
    def life(self) -> timedelta | None:
        """How long the key works; None for as long as no one revokes it."""
        days = self.cleaned_data["lifetime"]
        return timedelta(days=int(days)) if days else None


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """A webhook's address and events."""

    events = forms.MultipleChoiceField(
        label=_("Events"), choices=[(event, event) for event in EVENTS], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("name", "url", "events", "include_payload", "active")
        labels: ClassVar = {
            "name": _("Name"),
            "url": _("Address"),
            "include_payload": _("Send inputs, messages and answers too"),
            "active": _("Active"),
        }


def group_choices() -> list[tuple[str, str]]:
    """Return the teams by their names and the roles by their labels."""
    roles = roles_by_group()
    groups = Group.objects.order_by("name").values_list("pk", "name")
    return [("", str(_("Choose a team or role"))), *((str(pk), roles.get(pk) or visible(name)) for pk, name in groups)]


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """Whom to notify of what."""

    person = forms.CharField(
        label=_("Person"), required=False, max_length=150, help_text=_("A username."), widget=combobox("people")
    )
    group = forms.ChoiceField(label=_("or a team or role"), required=False, choices=group_choices)

    class Meta:
        model = NotificationRule
        fields = ("person", "group", "route", "slack_url", "min_priority", "tool_name", "active")
        labels: ClassVar = {"route": _("How"), "active": _("Active")}
        widgets: ClassVar = {"tool_name": combobox("tools")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.person:
            self.initial["person"] = self.instance.person.get_username()

    def clean_person(self) -> User | None:
        name = self.cleaned_data["person"]
        found = User.objects.filter(username=name, is_active=True).first() if name else None
        if name and found is None:
            raise ValidationError(_("No active person has this username."))
        return found

    def clean_group(self) -> Group | None:
        chosen = self.cleaned_data["group"]
        return Group.objects.get(pk=chosen) if chosen else None
