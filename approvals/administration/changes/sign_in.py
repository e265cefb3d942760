"""Changes of the OpenID providers, and of the roles and teams that their groups give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access.callers import SCIM
from approvals.access.standing import standing_of
from approvals.administration.changes.noun import Noun
from approvals.administration.people.actions.teams import require_team_without_rights
from approvals.administration.people.queries import roles_by_group
from approvals.administration.sign_in import actions
from approvals.models import GroupMapping, PendingChange
from approvals.policy.policy_text import difference, write_text
from approvals.text.text import visible


class GroupMappings(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        stored = change.value or change.before
        group = Group.objects.filter(pk=stored["group"]).first()
        gives = roles_by_group().get(stored["group"], group and visible(group.name))
        words = {
            "value": visible(stored["value"]),
            "issuer": visible(stored["issuer"]),
            "gives": gives,
        }
        if change.value is None:
            return (
                _(
                    "No longer map the group “%(value)s” of %(issuer)s to %(gives)s, which its people keep"
                )
                % words
            )
        if stored["issuer"] == SCIM:
            return (
                _(
                    "Map the group “%(value)s” of SCIM to %(gives)s, which its people then have at once"
                )
                % words
            )
        return (
            _(
                "Map the group “%(value)s” of %(issuer)s to %(gives)s, and take that from everyone else at their log-in"
            )
            % words
        )

    def now(self, change: PendingChange) -> Any:
        mapping = GroupMapping.objects.filter(**(change.value or change.before))
        return mapping.values("issuer", "value", "group").first()

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:sign-in")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        stored = change.value or change.before
        add = change.value is not None
        if add:
            require_team_without_rights(actions.known_group(stored), standing_of(by))
        requester = change.requested_by
        actions.write_mapping(stored, add=add, requested_by=requester, by=by)


class Providers(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = {
            "name": visible(change.value["name"]),
            "issuer": visible(change.value["issuer"]),
        }
        return _("Let people log in with %(name)s (%(issuer)s), like this:") % words

    def lines(self, change: PendingChange) -> Sequence[str]:
        after = dict(change.value)
        if "secret" in after:
            after["secret"] = _("new")
        before = change.before
        return difference(write_text(before) if before else "", write_text(after))

    def now(self, change: PendingChange) -> Any:
        return actions.described_provider(change.value["issuer"])

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:sign-in")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        actions.write_provider(change.value, by=by)
