"""Forms of personal preferences."""

from __future__ import annotations

from typing import Any, ClassVar
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.access.usernames import MAX_DISPLAY_NAME, clean_display_name
from approvals.forms.number_fields import WholeNumberField
from approvals.models.preferences import MAX_HOLD, Preferences
from approvals.queries.preferences import name_of_language

#: The largest daily budget.
MOST_A_DAY = 10_000


def zone_choices() -> list[tuple[str, str]]:
    """Return the time zones, without the Etc/ zones, whose offsets have an inverted sign."""
    names = [
        name for name in sorted(available_timezones()) if not name.startswith("Etc/")
    ]
    own = gettext("Default of this installation (%(zone)s)") % {
        "zone": settings.TIME_ZONE
    }
    return [("", own), *((name, name) for name in names)]


def language_choices() -> list[tuple[str, str]]:
    """Return the available languages, each under its own name."""
    own = name_of_language(settings.LANGUAGE_CODE)
    others = [(code, name_of_language(code)) for code in settings.HITL_LANGUAGES]
    return [
        (
            "",
            gettext("Default of this installation (%(language)s)") % {"language": own},
        ),
        *others,
    ]


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """Display and behavior of pages."""

    hold_seconds = WholeNumberField(
        label=_("Hold my decisions for (seconds)"),
        min_value=0,
        max_value=MAX_HOLD,
        help_text=_(
            "You can undo a decision during this time. 0 sends decisions at once. Critical requests are never held."
        ),
    )

    language = forms.ChoiceField(
        label=_("Language"), required=False, choices=language_choices
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        choices=zone_choices,
        help_text=_("Used for all times that you see, and for your quiet hours."),
    )

    class Meta:
        model = Preferences
        fields = (
            "language",
            "time_zone",
            "theme",
            "density",
            "split",
            "open_next",
            "shortcuts",
            "hold_seconds",
        )
        widgets: ClassVar = {"theme": forms.RadioSelect, "density": forms.RadioSelect}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if len(settings.HITL_LANGUAGES) < 2:
            del self.fields["language"]


class BudgetForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """A person's maximum of decisions per day."""

    daily_budget = WholeNumberField(
        label=_("Decisions per day"),
        required=False,
        min_value=1,
        max_value=MOST_A_DAY,
        help_text=_(
            "Shown in your Inbox as “38 of your 50 today”. Nothing is blocked. Leave it empty for none."
        ),
    )

    class Meta:
        model = Preferences
        fields = ("daily_budget",)


class DisplayNameForm(forms.Form):
    """A person's display name."""

    display_name = forms.CharField(
        label=_("Display name"),
        required=False,
        max_length=MAX_DISPLAY_NAME,
        help_text=_(
            "Shown together with your username. Leave it empty to show only your username."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def clean_display_name(self) -> str:
        return clean_display_name(self.cleaned_data["display_name"])


class AddressForm(forms.Form):
    """A new email address, confirmed with the user's password."""

    email = forms.EmailField(
        label=_("New email address"),
        max_length=254,
        help_text=_(
            "You get an email there with a link to confirm it. Until then, nothing changes."
        ),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    password = forms.CharField(
        label=_("Current password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person

    def clean_email(self) -> str:
        address: str = self.cleaned_data["email"]
        if address == self.person.email:
            raise ValidationError(_("This is already your address."))
        return address

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.person.check_password(password):
            raise ValidationError(_("Wrong current password."))
        return password


class QuietHoursForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """A person's quiet hours."""

    class Meta:
        model = Preferences
        fields = ("quiet_from", "quiet_until")
        widgets: ClassVar = {
            name: forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
            for name in ("quiet_from", "quiet_until")
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if (cleaned.get("quiet_from") is None) != (
            cleaned.get("quiet_until") is None
        ) and not self.errors:
            raise ValidationError(
                _("Enter both times, or clear both to have no quiet hours.")
            )
        return cleaned
