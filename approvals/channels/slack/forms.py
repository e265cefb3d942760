"""The forms of the Slack page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from approvals.models.subscriptions import check_slack_channel

_TOKEN = forms.PasswordInput(attrs={"autocomplete": "off"}, render_value=False)


class ConnectionForm(forms.Form):
    """The app and its secrets, which are never shown again."""

    app_id = forms.CharField(
        label=_("App ID"),
        max_length=40,
        help_text=_("Under Basic Information, such as A012AB3CD."),
        validators=[
            RegexValidator(
                r"\AA[A-Z0-9]+\Z", _("An app ID begins with A, such as A012AB3CD.")
            )
        ],
    )
    signing_secret = forms.CharField(
        label=_("Signing secret"),
        max_length=200,
        help_text=_("Under Basic Information."),
        widget=_TOKEN,
    )
    bot_token = forms.CharField(
        label=_("Bot token"),
        max_length=500,
        help_text=_(
            "Under OAuth & Permissions, after you install the app. It begins with xoxb-."
        ),
        widget=_TOKEN,
        validators=[RegexValidator(r"\Axoxb-", _("A bot token begins with xoxb-."))],
    )
    app_token = forms.CharField(
        label=_("App token, for Socket Mode"),
        max_length=500,
        required=False,
        help_text=_("Only if Slack cannot reach this address. It begins with xapp-."),
        widget=_TOKEN,
        validators=[RegexValidator(r"\Axapp-", _("An app token begins with xapp-."))],
    )

    def clean(self) -> dict[str, Any]:
        """Require tokens that a header can carry."""
        fields: dict[str, Any] = super().clean() or {}
        for name in ("signing_secret", "bot_token", "app_token"):
            text = fields.get(name, "")
            if not (text.isascii() and text.isprintable()) or " " in text:
                self.add_error(name, _("This has characters that Slack does not use."))
        return fields


class TestForm(forms.Form):
    """The channel for a test card."""

    channel_id = forms.CharField(
        label=_("Channel ID"),
        max_length=40,
        help_text=_(
            "At the end of the channel's details in Slack, such as C012AB3CD. Invite the app to the channel first."
        ),
        validators=[check_slack_channel],
    )
