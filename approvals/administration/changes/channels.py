"""Changes of the channels in which people answer."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.actions.channels.connections import (
    described_connection,
    write_connection,
)
from approvals.administration.changes.noun import Noun
from approvals.models import ChannelConnection, PendingChange
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
