"""The forms of the page of Microsoft Teams."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from approvals.models.subscriptions import channel_in, check_teams_channel

_GUID = RegexValidator(
    r"\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z",
    _("This is not an ID such as 11111111-2222-3333-4444-555555555555."),
)


class BotForm(forms.Form):
    """The bot and its secret, which is never shown again."""

    app_id = forms.CharField(
        label=_("App ID"),
        max_length=36,
        help_text=_("Under Configuration of the bot: Microsoft App ID."),
        validators=[_GUID],
    )
    tenant = forms.CharField(
        label=_("Tenant ID"),
        max_length=36,
        help_text=_("Under Configuration of the bot: App Tenant ID."),
        validators=[_GUID],
    )
    client_secret = forms.CharField(
        label=_("Client secret"),
        max_length=500,
        help_text=_("Its value, not its ID."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}, render_value=False),
    )

    def __init__(self, data: Any = None) -> None:
        if data is not None:
            lowered = {
                name: data.get(name, "").lower() for name in ("app_id", "tenant")
            }
            data = {**data.dict(), **lowered}
        super().__init__(data)


class ChannelLinkForm(forms.Form):
    """The channel for a test card."""

    channel_id = forms.CharField(
        label=_("Link to the channel"),
        max_length=1000,
        help_text=_(
            "In Teams, open the menu of the channel and choose “Get link to channel”. Add the app to the team first."
        ),
    )

    def clean_channel_id(self) -> str:
        channel_id = channel_in(self.cleaned_data["channel_id"])
        check_teams_channel(channel_id)
        return channel_id
