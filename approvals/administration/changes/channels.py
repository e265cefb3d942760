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
from approvals.models import PendingChange
from approvals.states import Door
from approvals.text.text import visible


class Connection(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = _("Let people answer in Slack, in the workspace %(name)s")
        return words % {"name": visible(change.value["team_name"])}

    def now(self, change: PendingChange) -> Any:
        return described_connection(change.subject)

    def address(self, change: PendingChange) -> str:
        return reverse("slack:setup")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        write_connection(change.value, by=by, via=Door.DASHBOARD)
