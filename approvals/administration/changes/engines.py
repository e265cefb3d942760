"""Changes of the engines that get decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.administration.changes.noun import Noun
from approvals.administration.engines import actions
from approvals.models import PendingChange
from approvals.policy.policy_text import difference, write_text
from approvals.text.text import visible


class Engines(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = _("Send decisions to the engine %(name)s, like this:")
        return words % {"name": visible(change.value["name"])}

    def lines(self, change: PendingChange) -> Sequence[str]:
        before = change.before
        after = {name: change.value[name] for name in actions.SHOWN}
        return difference(write_text(before) if before else "", write_text(after))

    def now(self, change: PendingChange) -> Any:
        return actions.described_engine(change.value["name"])

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:engines")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        actions.write_engine(change.value, by=by)
