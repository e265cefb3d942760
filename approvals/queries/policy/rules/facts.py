"""The facts that rules are evaluated on, with the teams and roles of requesters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone

from approvals.db.many import any_of
from approvals.policy.match import Facts, server_of
from approvals.policy.rules import Requester, RuleFacts


def reader_of_requesters(
    people: Collection[int] | None = None,
) -> Callable[[int], Requester]:
    """Return a function from id to requester, for conditions: it reads these people, or everyone, on first use."""
    known: dict[int, Requester] = {}

    def read(pk: int) -> Requester:
        if not known:
            known.update(_requesters(people))
        return known.get(pk) or Requester("")

    return read


def _requesters(people: Collection[int] | None) -> dict[int, Requester]:
    """Return these people, or everyone, with their teams and roles; in two statements."""
    users = User.objects.all()
    members = Group.objects.order_by("name").exclude(user=None)
    if people is not None:
        users = users.filter(pk__in=any_of(people, int))
        members = members.filter(user__in=any_of(people, int))
    teams: dict[int, list[str]] = {}
    roles: dict[int, list[str]] = {}
    for user, name, role in members.values_list("user", "name", "role__name"):
        (teams if role is None else roles).setdefault(user, []).append(
            name if role is None else role
        )
    names = users.values_list("pk", "username")
    return {
        pk: Requester(name, teams.get(pk, ()), roles.get(pk, ())) for pk, name in names
    }


def requester_of(user: User) -> Requester:
    """Return a user as requester, for conditions."""
    groups = list(
        Group.objects.filter(user=user.pk)
        .order_by("name")
        .values_list("name", "role__name")
    )
    return Requester(
        name=user.get_username(),
        teams=[name for name, role in groups if role is None],
        roles=[role for _name, role in groups if role is not None],
    )


def in_installation(moment: datetime) -> datetime:
    """Return a moment in the time zone of the installation, in which rules count hours and days."""
    return timezone.localtime(moment, timezone.get_default_timezone())


def rule_facts(
    *,
    agent: str,
    tool: str,
    kind: str,
    source: str,
    requester: int,
    on_behalf_of: str,
    priority: str,
    value: Mapping[str, Any],
    context: Any,
    at: datetime,
    who: Callable[[], Requester],
    has_files: bool = False,
    may_allow: bool = True,
) -> RuleFacts:
    """Return the facts for evaluating rules.

    `value` is the input, `priority` the one before any rule raises it, and `at` the time of the request.
    """
    match = Facts(
        agent=agent,
        tool=tool,
        kind=kind,
        source=source,
        server=server_of(tool),
        requester=requester,
        on_behalf_of=on_behalf_of,
        priority=priority,
        input=value,
    )
    return RuleFacts(
        match=match,
        at=in_installation(at),
        requester=who,
        context=context,
        has_files=has_files,
        may_allow=may_allow,
    )
