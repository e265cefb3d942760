"""Create, rename and remove teams, and change their members, on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing, standing_of
from approvals.actions.changes import Kind, record_alone
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.standing_changes import (
    standing_before,
    standing_changed,
)
from approvals.administration.changeable import lock_people
from approvals.administration.people.actions.roles import require_an_administrator
from approvals.administration.people.queries import find_team, teams
from approvals.exceptions import Conflict, NotAllowed
from approvals.models import ApproverScope
from approvals.policy.loosening import teams_loosen
from approvals.queries.policy.rules.policy_versions import (
    policy_reads_teams,
    teams_in_force,
)
from approvals.record import audit
from approvals.states import Door


def change_teams(
    person: User, team_ids: Collection[int], *, by: User, standing: Standing
) -> dict[str, list[int]] | None:
    """Set a person's teams; return the teams to join and to leave that need another administrator.

    Raise NotAllowed for a team with permissions, unless `by` is a superuser, and for a change that lets `by` decide more.
    """
    current = set(teams().filter(user=person).values_list("pk", flat=True))
    wanted = set(teams().filter(pk__in=team_ids).values_list("pk", flat=True))
    joined = wanted - current
    left = current - wanted
    for team in teams().filter(pk__in=joined | left):
        require_team_without_rights(team, standing)
    named = _teams_that_count() if joined else set[int]()
    read = bool(joined | left) and policy_reads_teams()
    if not teams_loosen(joined, left, named=named, read=read):
        _move(person, joined, left)
        return None
    if not needs_second(standing):
        _move(person, joined, left)
        names = sorted(
            teams().filter(pk__in=joined | left).values_list("name", flat=True)
        )
        about = {"user": person.get_username(), "user_id": person.pk, "teams": names}
        record_alone(Kind.TEAMS, **about, by=by, via=Door.DASHBOARD)
        return None
    require_no_own_teams(person, joined, by=standing)
    if read:
        return {"join": sorted(joined), "leave": sorted(left)}
    _move(person, joined - named, left)
    return {"join": sorted(joined & named), "leave": []}


def join_and_leave(
    person: User, value: Mapping[str, Collection[int]], *, by: User
) -> None:
    """Apply the memberships of a confirmed change. Raise NotAllowed."""
    joined = set(teams().filter(pk__in=value["join"]).values_list("pk", flat=True))
    standing = standing_of(by)
    for team in teams().filter(pk__in={*joined, *value["leave"]}):
        require_team_without_rights(team, standing)
    before_change = standing_before([person.pk])
    _move(person, joined, set(value["leave"]))
    require_an_administrator()
    standing_changed(before_change)


def require_no_own_teams(
    person: User, joined: Collection[int], *, by: Standing
) -> None:
    """Raise NotAllowed if the new teams, of `by` or of someone they stand in for, would widen the requests that `by` decides."""
    decides_as = {by.pk, *by.away_for}
    widens = person.pk in decides_as and not by.is_superuser and DECIDE in by.rights
    if not widens or not set(joined) & _teams_that_count():
        return
    if person.pk != by.pk:
        message = _(
            "You are currently deciding for %(name)s. Ask another administrator to add them to this team."
        )
        raise NotAllowed(message % {"name": person.get_username()})
    if ApproverScope.objects.filter(teams__in=joined).exists():
        raise NotAllowed(
            _(
                "You cannot join a team that an approver scope names. Ask another administrator."
            )
        )
    raise NotAllowed(
        _("You cannot join a team that the policy names. Ask another administrator.")
    )


def _teams_that_count() -> set[int]:
    """Return the teams that a scope or a vote names."""
    in_scopes = ApproverScope.objects.exclude(teams=None).values_list(
        "teams", flat=True
    )
    return {pk for pk in in_scopes if pk is not None} | teams_in_force()


def _move(person: User, joined: Collection[int], left: Collection[int]) -> None:
    person.groups.remove(*left)
    person.groups.add(*joined)


def add_team(name: str, *, by: User) -> Group:
    """Create a team, on record. Raise Conflict if a team or role has this name."""
    with transaction.atomic():
        lock_people(by)
        _require_free_name(name)
        team = Group.objects.create(name=name)
        _record_team(name, {"change": "created"}, by)
    return team


def change_team(team_id: int, name: str, *, by: User) -> None:
    """Rename a team, on record. Raise NotFound, NotAllowed or Conflict."""
    with transaction.atomic():
        standing = lock_people(by)
        team = find_team(team_id)
        if team.name == name:
            return
        require_team_without_rights(team, standing)
        _require_unread_teams(standing)
        _require_free_name(name)
        data = {"change": "renamed", "before": team.name}
        team.name = name
        team.save(update_fields=["name"])
        _record_team(name, data, by)


def remove_team(team_id: int, *, by: User) -> None:
    """Remove a team, on record; its people stay. Raise NotFound, NotAllowed, or Conflict if no administrator would be left."""
    with transaction.atomic():
        standing = lock_people(by)
        team = find_team(team_id)
        require_team_without_rights(team, standing)
        _require_unread_teams(standing)
        people = sorted(team.user_set.values_list("username", flat=True)[:100])
        before_change = standing_before(team.user_set.values_list("pk", flat=True))
        team.delete()
        standing_changed(before_change)
        require_an_administrator()
        _record_team(team.name, {"change": "removed", "people": people}, by)


def require_team_without_rights(group: Group, by: Standing) -> None:
    """Raise NotAllowed for a team with permissions (set in Django's admin), unless `by` is a superuser. Roles pass."""
    team = teams().filter(pk=group.pk, permissions__isnull=False).first()
    if team is not None and not by.is_superuser:
        raise NotAllowed(
            _(
                "The team %(name)s gives permissions. Only a superuser can change its members."
            )
            % {"name": team.name}
        )


def _require_unread_teams(by: Standing) -> None:
    """Raise NotAllowed if a rule reads requesters' teams: then their names and members affect which requests are allowed."""
    if needs_second(by) and policy_reads_teams():
        raise NotAllowed(
            _(
                "The policy depends on the requester's teams, so one administrator cannot rename or remove a "
                "team. Change its members, or ask a superuser."
            )
        )


def _require_free_name(name: str) -> None:
    if Group.objects.filter(name__iexact=name).exists():
        raise Conflict(
            _("A team or role with this name already exists. Choose another one.")
        )


def _record_team(name: str, data: Mapping[str, object], by: User) -> None:
    audit.record(
        "team.changed",
        SUBJECT,
        data={"team": name} | dict(data),
        actor=by,
        via=Door.DASHBOARD,
    )
