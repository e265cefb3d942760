"""Changes of the roles and teams that the groups of the OpenID provider give."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access.standing import standing_of
from approvals.administration.changes.noun import Noun
from approvals.administration.people.actions.teams import require_team_without_rights
from approvals.administration.people.queries import roles_by_group
from approvals.administration.sign_in import actions
from approvals.administration.sign_in.queries import label_of
from approvals.models import GroupMapping, PendingChange
from approvals.text.text import visible


def _group_of(change: PendingChange) -> Group | None:
    return Group.objects.filter(pk=(change.value or change.before)["group"]).first()


class GroupMappings(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        stored = change.value or change.before
        group = _group_of(change)
        words = {
            "value": visible(stored["value"]),
            "gives": label_of(group, roles_by_group())
            if group
            else f"#{stored['group']}",
        }
        if change.value is None:
            return (
                _(
                    "No longer map the group “%(value)s” to the %(gives)s, which keeps its people"
                )
                % words
            )
        return (
            _(
                "Map the group “%(value)s” to the %(gives)s, and take it from everyone else at their log-in"
            )
            % words
        )

    def now(self, change: PendingChange) -> Any:
        if change.value is None:
            return actions.described(int(change.subject))
        return GroupMapping.objects.filter(**change.value).values("value").first()

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:sign-in")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        if change.value is None:
            actions.erase_mapping(int(change.subject), by=by)
            return
        group = _group_of(change)
        if group is not None:
            require_team_without_rights(group, standing_of(by))
        actions.write_mapping(change.value, requested_by=change.requested_by, by=by)
