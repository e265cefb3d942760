"""The forms of what people choose for themselves."""

from __future__ import annotations

from typing import Any, ClassVar
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.models.preferences import MAX_HOLD, Preferences
from approvals.queries.languages import name_of_language


def zone_choices() -> list[tuple[str, str]]:
    """Return the time zones, without those that have the sign of their offset the other way round."""
    return [(name, name) for name in sorted(available_timezones()) if not name.startswith("Etc/")]


def language_choices() -> list[tuple[str, str]]:
    """Return the languages that can be chosen, each under its own name."""
    own = name_of_language(settings.LANGUAGE_CODE)
    others = [(code, name_of_language(code)) for code in settings.HITL_LANGUAGES]
    return [("", gettext("As this installation (%(language)s)") % {"language": own}), *others]


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
