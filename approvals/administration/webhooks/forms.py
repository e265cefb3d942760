"""The form of a webhook."""

from __future__ import annotations

from typing import ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.models.subscriptions import WebhookEndpoint
from approvals.outbound.outbox import EVENTS


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """A webhook's address and events."""

    events = forms.MultipleChoiceField(
        label=_("Events"),
        choices=[(event, event) for event in EVENTS],
        widget=forms.CheckboxSelectMultiple,
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("name", "url", "events", "include_payload", "active")
        labels: ClassVar = {
            "name": _("Name"),
            "url": _("Address"),
            "include_payload": _("Also send inputs, messages and answers"),
            "active": _("Active"),
        }
