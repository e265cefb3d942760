"""Changes of asking and deciding: settings of tools and priorities, approver scopes, and the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import Group, User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.access.standing import Standing
from approvals.actions.policy import policy_versions
from approvals.actions.policy.scope_index import LOCK as SCOPES_LOCK
from approvals.administration.changes.noun import Noun
from approvals.administration.scopes import actions as scopes
from approvals.administration.tools import actions as tools
from approvals.exceptions import Conflict
from approvals.models import ApproverScope, PendingChange, PolicyVersion
from approvals.policy.policy_text import difference, write_text
from approvals.queries.policy.rules.policy_versions import (
    EMPTY,
    find_version,
    live_version,
    written,
)
from approvals.states import Door, Priority
from approvals.text.text import visible


def _labels(names: Sequence[str]) -> str:
    return ", ".join(str(Priority(name).label) for name in names) or _("none")


def _scope_id(change: PendingChange) -> int | None:
    return int(change.subject) if change.before is not None else None


def _named(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored terms of a scope with current names in place of ids."""
    match = dict(stored["match"])
    ids = {*stored["people"], *match.get("requesters", ())}
    people = dict(User.objects.filter(pk__in=ids).values_list("pk", "username"))
    groups = dict(
        Group.objects.filter(pk__in=stored["teams"]).values_list("pk", "name")
    )
    if "requesters" in match:
        match["requesters"] = [people.get(pk, f"#{pk}") for pk in match["requesters"]]
    return {
        **stored,
        "match": match,
        "people": [people.get(pk, f"#{pk}") for pk in stored["people"]],
        "teams": [groups.get(pk, f"#{pk}") for pk in stored["teams"]],
    }


def _version(change: PendingChange) -> PolicyVersion:
    return find_version(int(change.subject))


class Tool(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        return _("Change the settings of the tool %(tool)s") % {
            "tool": visible(change.subject)
        }

    def now(self, change: PendingChange) -> Any:
        return tools.described(change.subject)

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:tool", args=[change.subject])

    def lines(self, change: PendingChange) -> Sequence[str]:
        changed = [
            name for name, value in change.value.items() if value != change.before[name]
        ]
        before, after = (
            {name: side[name] for name in changed}
            for side in (change.before, change.value)
        )
        return difference(write_text(before), write_text(after))

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        tools.write_tool_settings(change.subject, change.value, by=by)

    def require_other(self, change: PendingChange, by: Standing) -> None:
        tools.require_no_own_loosening(
            change.before, change.before | change.value, by=by
        )


class Priorities(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        before, after = (_labels(names) for names in (change.before, change.value))
        return _(
            "Rejections need a message for these priorities: %(after)s. Before: %(before)s"
        ) % {
            "after": after,
            "before": before,
        }

    def now(self, change: PendingChange) -> Any:
        return tools.sorted_priorities()

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:tools")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        tools.write_strict_priorities(change.value, by=by)


class Scope(Noun):
    replaces = True
    lock = SCOPES_LOCK

    def words(self, change: PendingChange) -> str:
        name = visible((change.before or change.value)["name"])
        if change.value is None:
            return _("Delete the approver scope %(name)s, which is the last one") % {
                "name": name
            }
        if change.before is None:
            return _("Add the approver scope %(name)s") % {"name": name}
        return _("Change the approver scope %(name)s") % {"name": name}

    def now(self, change: PendingChange) -> Any:
        scope_id = _scope_id(change)
        known = (
            scope_id is not None and ApproverScope.objects.filter(pk=scope_id).exists()
        )
        return scopes.described(scope_id) if known else None

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:scopes")

    def lines(self, change: PendingChange) -> Sequence[str]:
        sides = (
            write_text(_named(stored)) if stored else ""
            for stored in (change.before, change.value)
        )
        return difference(*sides)

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        scope_id = _scope_id(change)
        if change.value is None:
            scopes.erase_scope(int(change.subject), by=by, via=Door.DASHBOARD)
            return
        if (
            ApproverScope.objects.filter(name=change.value["name"])
            .exclude(pk=scope_id or 0)
            .exists()
        ):
            raise Conflict(
                _(
                    "Another scope now has this name. Cancel this change, and request it again."
                )
            )
        terms = scopes.terms_from(change.value)
        if not terms.people and not terms.teams:
            raise Conflict(
                _(
                    "The people and teams that this scope names no longer exist. Cancel this change, and "
                    "request it again."
                )
            )
        scopes.write_scope(scope_id, terms, by=by, via=Door.DASHBOARD)

    def require_other(self, change: PendingChange, by: Standing) -> None:
        scopes.require_other(by, change.before, change.value)


class Policy(Noun):
    def words(self, change: PendingChange) -> str:
        version = _version(change)
        words = {"number": version.number, "reason": visible(version.reason)}
        return _("Apply version %(number)s of the policy: “%(reason)s”") % words

    def now(self, change: PendingChange) -> Any:
        live = live_version()
        return None if live is None else live.number

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:policy-version", args=[int(change.subject)])

    def lines(self, change: PendingChange) -> Sequence[str]:
        version = _version(change)
        base = (
            PolicyVersion.objects.filter(number=version.based_on).first()
            if version.based_on
            else None
        )
        before = written(EMPTY if base is None else base.document)
        return difference(write_text(before), write_text(written(version.document)))

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        policy_versions.apply_proposal(int(change.subject), by=by, via=Door.DASHBOARD)

    def require_other(self, change: PendingChange, by: Standing) -> None:
        policy_versions.require_no_own_loosening(
            _version(change), live_version(), by=by
        )

    def give_up(self, change: PendingChange, *, by: User) -> None:
        policy_versions.decline_proposal(int(change.subject), by=by, via=Door.DASHBOARD)
