"""Create, change and delete approver scopes, on record."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.logins import SUBJECT
from approvals.actions.policy.scope_index import LOCK
from approvals.actions.policy.standing_changes import Before, standing_changed
from approvals.administration.changeable import lock_people
from approvals.db.transactions import lock_name
from approvals.exceptions import NotAllowed, NotFound
from approvals.models import ApproverScope, PendingChange, ScopeWalk
from approvals.models.policy.scopes import May
from approvals.policy.loosening import scope_loosens
from approvals.queries.policy.grants.givers import powers_of_givers
from approvals.record import audit
from approvals.states import Door


@dataclass(frozen=True, kw_only=True)
class ScopeTerms:
    """The terms of a scope. `match` is a document of `approvals.policy.documents`."""

    name: str
    match: Mapping[str, Any] = field(default_factory=dict)
    may: str = May.DECIDE
    limit: float | None = None
    people: Collection[User] = ()
    teams: Collection[Group] = ()

    def names(self, person_id: int) -> bool:
        """Return whether the scope names this person or a team of theirs."""
        own = any(person.pk == person_id for person in self.people)
        return own or any(
            team.user_set.filter(pk=person_id).exists() for team in self.teams
        )


def store_scope(
    scope_id: int | None, terms: ScopeTerms, *, by: User, via: Door
) -> ApproverScope | PendingChange:
    """Create or change a scope; a changed match makes it a new scope. Raise NotFound or NotAllowed.

    Return the pending change instead if it loosens limits and needs another administrator.
    """
    with transaction.atomic():
        standing = lock_people(by)
        lock_name(LOCK)
        before = described(scope_id)
        after = _stored(terms)
        loosens = scope_loosens(before, after, others=_others_than(scope_id))
        if needs_second(standing):
            require_other(standing, before, after)
            if loosens:
                subject = str(scope_id) if scope_id is not None else f"new {terms.name}"
                return request_change(
                    Kind.SCOPE, after, subject=subject, before=before, by=by, via=via
                )
        scope = write_scope(scope_id, terms, by=by, via=via)
        if loosens:
            record_alone(Kind.SCOPE, name=terms.name, by=by, via=via)
    return scope


def write_scope(
    scope_id: int | None, terms: ScopeTerms, *, by: User, via: Door
) -> ApproverScope:
    """Write a scope, on record. Raise NotFound."""
    stored = None if scope_id is None else _known(scope_id)
    before = None if stored is None else terms_of(stored)
    powers = powers_of_givers()
    if stored is not None and before is not None and before.match != terms.match:
        # Comparisons with the old match are invalid for the new one.
        stored.delete()
        stored = None
    scope = stored or ApproverScope(match=terms.match)
    scope.name = terms.name
    scope.may = terms.may
    scope.limit = terms.limit
    scope.save()
    scope.people.set(terms.people)
    scope.teams.set(terms.teams)
    if stored is None:
        _begin_walk(scope)
    standing_changed(Before(powers))
    event = "scope.created" if before is None else "scope.changed"
    record = {"before": _record(before)} if before is not None else {}
    audit.record(
        event,
        SUBJECT,
        data={"scope_id": scope.pk, **record, "after": _record(terms)},
        actor=by,
        via=via,
    )
    return scope


def delete_scope(scope_id: int, *, by: User, via: Door) -> PendingChange | None:
    """Delete a scope, or return a pending change if it is the last one. Raise NotFound or NotAllowed."""
    with transaction.atomic():
        standing = lock_people(by)
        lock_name(LOCK)
        before = described(scope_id)
        loosens = scope_loosens(before, None, others=_others_than(scope_id))
        if needs_second(standing):
            require_other(standing, before, None)
            if loosens:
                return request_change(
                    Kind.SCOPE,
                    None,
                    subject=str(scope_id),
                    before=before,
                    by=by,
                    via=via,
                )
        erase_scope(scope_id, by=by, via=via)
        if loosens:
            record_alone(
                Kind.SCOPE, name=before["name"] if before else "", by=by, via=via
            )
    return None


def erase_scope(scope_id: int, *, by: User, via: Door) -> None:
    """Delete a scope, on record. Raise NotFound."""
    stored = _known(scope_id)
    terms = terms_of(stored)
    powers = powers_of_givers()
    stored.delete()
    standing_changed(Before(powers))
    audit.record(
        "scope.deleted",
        SUBJECT,
        data={"scope_id": scope_id, "before": _record(terms)},
        actor=by,
        via=via,
    )


def described(scope_id: int | None) -> dict[str, Any] | None:
    """Return a scope's terms with ids, in the form that is compared; None for a new scope. Raise NotFound."""
    return None if scope_id is None else _stored(terms_of(_known(scope_id)))


def terms_from(stored: Mapping[str, Any]) -> ScopeTerms:
    """Return the terms in this stored form, without people and teams that no longer exist."""
    people = User.objects.filter(pk__in=stored["people"]).order_by("username")
    teams = Group.objects.filter(pk__in=stored["teams"]).order_by("name")
    return ScopeTerms(**{**stored, "people": list(people), "teams": list(teams)})


def _stored(terms: ScopeTerms) -> dict[str, Any]:
    return {
        "name": terms.name,
        "match": dict(terms.match),
        "may": str(terms.may),
        "limit": terms.limit,
        "people": sorted(person.pk for person in terms.people),
        "teams": sorted(team.pk for team in terms.teams),
    }


def _others_than(scope_id: int | None) -> bool:
    return ApproverScope.objects.exclude(pk=scope_id or 0).exists()


def terms_of(scope: ApproverScope) -> ScopeTerms:
    """Return the terms of a stored scope, using its prefetched people and teams if there are any."""
    return ScopeTerms(
        name=scope.name,
        match=scope.match,
        may=scope.may,
        limit=scope.limit,
        people=sorted(scope.people.all(), key=User.get_username),
        teams=sorted(scope.teams.all(), key=lambda team: team.name),
    )


def _known(scope_id: int) -> ApproverScope:
    scope = (
        ApproverScope.objects.select_for_update(no_key=True).filter(pk=scope_id).first()
    )
    if scope is None:
        raise NotFound(_("Scope not found. Someone may have deleted it."))
    return scope


def require_other(
    by: Standing, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> None:
    """Raise NotAllowed if a decider changes the scopes that limit their own decisions."""
    if by.is_superuser or DECIDE not in by.rights or not ApproverScope.objects.exists():
        return
    if after is None and ApproverScope.objects.count() == 1:
        raise NotAllowed(
            _(
                "Without the last scope, you could decide everything. Ask an administrator who does not decide."
            )
        )
    terms = [terms_from(stored) for stored in (before, after) if stored is not None]
    if any(each.names(by.pk) for each in terms):
        raise NotAllowed(
            _("You cannot change your own scopes. Ask another administrator.")
        )
    for absent in User.objects.filter(pk__in=by.away_for):
        if any(each.names(absent.pk) for each in terms):
            message = _(
                "You cannot change scopes of %(name)s while you decide for them. Ask another administrator."
            )
            raise NotAllowed(message % {"name": absent.get_username()})


def _begin_walk(scope: ApproverScope) -> None:
    """Start the comparison of existing requests with a new scope."""
    walk = ScopeWalk.objects.select_for_update().first() or ScopeWalk()
    walk.upto = scope.pk
    walk.created_at = None
    walk.request_id = None
    walk.done = False
    walk.save()


def _record(terms: ScopeTerms) -> dict[str, Any]:
    return {
        "name": terms.name,
        "match": terms.match,
        "may": terms.may,
        "limit": terms.limit,
        "people": sorted(person.get_username() for person in terms.people),
        "teams": sorted(team.name for team in terms.teams),
    }
