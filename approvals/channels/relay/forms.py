"""The forms of relays."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.channels.relay.contract import MAX_ACCOUNT
from approvals.models import Relay
from approvals.models.relays import check_relay_name


class RelayForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """The address of a relay, and the limits of its messages."""

    class Meta:
        model = Relay
        fields = ("address", "shows", "up_to")
        labels: ClassVar = {
            "address": _("Address"),
            "shows": _("What a message shows"),
            "up_to": _("Up to the amount"),
        }
        help_texts: ClassVar = {
            "address": _("Where the relay takes messages, with https://."),
            "shows": _(
                "Everyone who runs the relay or the chat can read it. There are answers only where the whole request is shown."
            ),
            "up_to": _(
                "Requests over this amount, or without one, are announced without their content. Leave it empty for all requests."
            ),
        }

    def stored(self, name: str) -> dict[str, Any]:
        """Return the values of a valid form as `write_relay` takes them."""
        return {"name": name, **self.cleaned_data}


class NewRelayForm(RelayForm):
    """A relay that is added, with its name."""

    name = forms.CharField(
        label=_("Name"),
        max_length=40,
        validators=[check_relay_name],
        help_text=_(
            "Such as mattermost. It is part of the addresses to which the relay posts, and of the record."
        ),
    )
    field_order = ("name", "address", "shows", "up_to")


class TestMessageForm(forms.Form):
    """The account for a test message."""

    account = forms.CharField(
        label=_("Account"),
        max_length=MAX_ACCOUNT,
        help_text=_("The ID of a person in the chat, as the relay names it."),
    )
