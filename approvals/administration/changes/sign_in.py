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
from approvals.models import GroupMapping, PendingChange
from approvals.text.text import visible


class GroupMappings(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        stored = change.value or change.before
        group = Group.objects.filter(pk=stored["group"]).first()
        gives = roles_by_group().get(stored["group"], group and visible(group.name))
        words = {"value": visible(stored["value"]), "gives": gives}
        if change.value is None:
            return (
                _(
                    "No longer map the group “%(value)s” to %(gives)s, which its people keep"
                )
                % words
            )
        return (
            _(
                "Map the group “%(value)s” to %(gives)s, and take that from everyone else at their log-in"
            )
            % words
        )

    def now(self, change: PendingChange) -> Any:
        mapping = GroupMapping.objects.filter(**(change.value or change.before))
        return mapping.values("value", "group").first()

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:sign-in")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        stored = change.value or change.before
        add = change.value is not None
        if add:
            require_team_without_rights(actions.known_group(stored), standing_of(by))
        requester = change.requested_by
        actions.write_mapping(stored, add=add, requested_by=requester, by=by)
