"""Changes of API keys: new keys for another person, and tool lists of coding agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access.tool_lists import ToolLists, lists_from
from approvals.administration.changes.noun import Noun
from approvals.administration.changes.people import OfPerson, name_of, person_of
from approvals.administration.keys.actions import (
    NewKey,
    known_key,
    store_key,
    write_tool_lists,
)
from approvals.exceptions import Conflict
from approvals.models import PendingChange
from approvals.models.keys import ApiKey
from approvals.policy.policy_text import difference, write_text
from approvals.states import Door
from approvals.text.text import visible
from approvals.text.times import short_time


class Key(OfPerson):
    def address(self, change: PendingChange) -> str:
        return reverse("approvals:keys")

    def words(self, change: PendingChange) -> str:
        words = {
            "key": visible(change.value["name"]),
            "prefix": change.subject,
            "name": name_of(change),
            "scopes": ", ".join(change.value["scopes"]),
        }
        return (
            _(
                "Create the API key %(key)s (pp_%(prefix)s…), which acts for %(name)s with these scopes: %(scopes)s"
            )
            % words
        )

    def lines(self, change: PendingChange) -> Sequence[str]:
        lines = []
        if change.value["expires_at"]:
            expiry = short_time(datetime.fromisoformat(change.value["expires_at"]))
            lines.append(_("It expires on %(time)s.") % {"time": expiry})
        if change.value["ranges"]:
            ranges = ", ".join(change.value["ranges"])
            lines.append(_("It works only from: %(ranges)s.") % {"ranges": ranges})
        if change.value["replaces"]:
            replaced = ApiKey.objects.filter(pk=change.value["replaces"]).first()
            prefix = "" if replaced is None else replaced.prefix
            lines.append(_("It replaces the key pp_%(prefix)s….") % {"prefix": prefix})
        return lines

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        value = change.value
        if not person_of(change).is_active:
            raise Conflict(_("This person is deactivated. Activate them first."))
        expires_at = value["expires_at"]
        new = NewKey(
            user=person_of(change),
            name=value["name"],
            scopes=value["scopes"],
            expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
            ranges=value["ranges"],
            replaces=value["replaces"],
            overlap=timedelta(seconds=value["overlap"]),
        )
        store_key(
            new,
            change.subject,
            value["secret_hash"],
            made_by=change.requested_by,
            by=by,
            via=Door.DASHBOARD,
        )


class KeyLists(Noun):
    replaces = True

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:keys")

    def words(self, change: PendingChange) -> str:
        key = ApiKey.objects.filter(pk=int(change.subject)).first()
        words = {
            "key": visible(key.name) if key else f"#{change.subject}",
            "name": name_of(change),
        }
        return (
            _(
                "Change which calls of coding agents wait for a person, for the API key %(key)s of %(name)s"
            )
            % words
        )

    def now(self, change: PendingChange) -> Any:
        key = ApiKey.objects.filter(pk=int(change.subject), revoked_at=None).first()
        return None if key is None else lists_from(key.tool_lists).document()

    def lines(self, change: PendingChange) -> Sequence[str]:
        return difference(write_text(change.before), write_text(change.value))

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        lists = ToolLists(
            **{name: tuple(patterns) for name, patterns in change.value.items()}
        )
        write_tool_lists(
            known_key(int(change.subject)), lists, by=by, via=Door.DASHBOARD
        )
