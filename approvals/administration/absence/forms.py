"""Forms of absences and of team settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals import queries
from approvals.access.rights import DECIDE
from approvals.access.standing import standing_of
from approvals.access.usernames import shown_person
from approvals.actions.policy.absence import Away
from approvals.administration.forms import combobox
from approvals.administration.preferences.forms import zone_choices
from approvals.models import TeamSettings
from approvals.models.policy.absence import MAX_REASON
from approvals.models.subscriptions import check_address
from approvals.policy.working_hours import parse_week
from approvals.queries.policy.absence import default_delegate_of, delegates


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput(
        attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"
    )


class AbsenceForm(forms.Form):
    """Start, end and delegate of an absence."""

    starts_at = forms.DateTimeField(
        label=_("From"),
        required=False,
        widget=_moment(),
        help_text=_("Leave it empty to start now."),
    )
    until = forms.DateTimeField(label=_("Until"), widget=_moment())
    delegate = forms.ChoiceField(label=_("Who decides meanwhile"), required=False)
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=MAX_REASON,
        help_text=_("Shown to the delegate and administrators."),
    )

    def __init__(self, *args: Any, person: User, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("starts_at", "until"):
            self.fields[name].widget.attrs["data-read-in"] = (
                timezone.get_current_timezone_name()
            )
        choices = [("", str(_("No one")))]
        # Only a person with decision rights needs a delegate, or the names of possible ones.
        if DECIDE in standing_of(person).rights:
            choices += [
                (each.get_username(), shown_person(each))
                for each in delegates(person, by)
            ]
            default = default_delegate_of(person)
            self.initial["delegate"] = (
                default.get_username() if default is not None else ""
            )
        self.fields["delegate"] = forms.ChoiceField(
            label=_("Who decides meanwhile"), required=False, choices=choices
        )

    @property
    def away(self) -> Away:
        """The submitted absence, for the action."""
        fields = self.cleaned_data
        return Away(
            starts_at=fields["starts_at"],
            until=fields["until"],
            delegate=queries.user_named(fields["delegate"])
            if fields["delegate"]
            else None,
            reason=fields["reason"],
        )


class TeamSettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """Settings of a team."""

    default_delegate = forms.CharField(
        label=_("Default delegate"),
        required=False,
        max_length=150,
        widget=combobox("people"),
        help_text=_(
            "A username. Decides for members who are away and have not named a delegate."
        ),
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"), required=False, choices=zone_choices
    )
    working_hours = forms.CharField(
        label=_("Working hours"),
        required=False,
        max_length=200,
        help_text=_(
            "For example: Mon-Thu 09:00-17:00, Fri 09:00-15:00. Leave it empty for all hours."
        ),
    )
    duty_url = forms.CharField(
        label=_("On-call calendar"),
        required=False,
        max_length=500,
        validators=[check_address],
        help_text=_(
            "An iCalendar URL. Only people on call are notified of the team's requests. Others may still decide."
        ),
    )

    class Meta:
        model = TeamSettings
        fields = ("default_delegate", "time_zone", "working_hours", "duty_url")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.default_delegate:
            self.initial["default_delegate"] = (
                self.instance.default_delegate.get_username()
            )

    def clean_default_delegate(self) -> User | None:
        name = self.cleaned_data["default_delegate"]
        person = queries.user_named(name) if name else None
        if person is not None and not isinstance(person, User):
            raise ValidationError(_("No active person has this username."))
        return person

    def clean_working_hours(self) -> str:
        text: str = " ".join(self.cleaned_data["working_hours"].split())
        if text:
            try:
                parse_week(text)
            except ValueError as error:
                raise ValidationError(str(error)) from error
        return text
