"""Changes of the channels in which people answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.actions.channels import relays
from approvals.actions.channels.connections import (
    described_connection,
    write_connection,
)
from approvals.administration.changes.noun import Noun
from approvals.models import ChannelConnection, PendingChange
from approvals.models.channels import Shows
from approvals.states import Door
from approvals.text.text import visible


class Connection(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = _("Let people answer in %(channel)s: %(name)s")
        channel = ChannelConnection.Kind(change.subject).label
        return words % {"channel": channel, "name": visible(change.value["team_name"])}

    def now(self, change: PendingChange) -> Any:
        return described_connection(change.subject)

    def address(self, change: PendingChange) -> str:
        return reverse(f"{change.subject}:setup")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        write_connection(change.value, by=by, via=Door.DASHBOARD)


class RelaySettings(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = _("Let the relay %(name)s carry requests to %(address)s")
        address = change.value["address"].partition("?")[0]
        return words % {"name": change.subject, "address": visible(address)}

    def lines(self, change: PendingChange) -> Sequence[str]:
        shows = _("A message shows: %(shows)s")
        limit = change.value["up_to"]
        up_to = _("Up to the amount: %(amount)s")
        amount = _("any amount") if limit is None else f"{limit:g}"
        return [
            shows % {"shows": Shows(change.value["shows"]).label},
            up_to % {"amount": amount},
        ]

    def now(self, change: PendingChange) -> Any:
        return relays.described_relay(change.subject)

    def address(self, change: PendingChange) -> str:
        return reverse("relay:setup")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        relays.write_relay(change.value, by=by, via=Door.DASHBOARD)
