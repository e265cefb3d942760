"""Write the policy: propose, apply and decline versions, on record.

A version applies to requests made after its commit. Pending requests keep their policy version.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.administrators import needs_second
from approvals.access.permissions import may_administer
from approvals.access.rights import DECIDE
from approvals.access.standing import Standing, standing_of
from approvals.actions.changes import Kind, record_alone, request_change
from approvals.actions.locking import lock_standing
from approvals.actions.logins import SUBJECT
from approvals.db.canonical_json import clean_text, digest
from approvals.exceptions import Conflict, Invalid, NotAllowed
from approvals.models import PolicyVersion
from approvals.models.policy.rules import VersionState
from approvals.policy.grants import MAX_REASON
from approvals.policy.loosening import policy_loosens, voters_of
from approvals.policy.policies import MAX_BYTES, InvalidPolicy, stored_form
from approvals.queries.policy.rules.policy_versions import (
    EMPTY,
    directory_of,
    find_version,
    live_version,
)
from approvals.record import audit
from approvals.states import Door
from approvals.text.numbers import grouped
from approvals.text.translation import translated


def write_policy(
    document: Any, *, based_on: int | None, reason: str, by: User, via: Door
) -> PolicyVersion:
    """Store a written policy as a new version: live at once, or proposed if it loosens and needs a second person.

    `based_on` is the live version when it was written. Raise Invalid with every fault by its path, Conflict if another version is
    live by now or nothing changes, or NotAllowed.
    """
    _require_administrator(standing_of(by))
    reason = _reason(reason)
    stored = _stored(document)
    # By digest, as in a match: to Python, `true` is 1.
    stored_digest = digest(stored, max_bytes=2 * MAX_BYTES)
    with transaction.atomic():
        standing = lock_standing(by)
        _require_administrator(standing)
        live = live_version()
        _require_current(live, based_on)
        if stored_digest == (live.digest if live is not None else digest(EMPTY)):
            raise Conflict(_("This policy is already live."))
        last = (
            PolicyVersion.objects.order_by("-number")
            .values_list("number", flat=True)
            .first()
        )
        version = PolicyVersion(
            number=(last or 0) + 1,
            based_on=based_on,
            document=stored,
            digest=stored_digest,
            author_id=by.pk,
            author_name=by.get_username(),
            reason=reason,
            created_at=timezone.now(),
            via=via,
            state=VersionState.PROPOSED,
        )
        loosens = policy_loosens(EMPTY if live is None else live.document, stored)
        waits = loosens and needs_second(standing)
        if waits:
            require_no_own_loosening(version, live, by=standing)
        version.save(force_insert=True)
        if waits:
            _record("policy.proposed", version, by=by, via=via)
            value = {"digest": version.digest}
            subject = str(version.number)
            request_change(Kind.POLICY, value, subject=subject, by=by, via=via)
            return version
        _go_live(version, live, by=by, via=via)
        if loosens:
            record_alone(Kind.POLICY, version=version.number, by=by, via=via)
    return version


def _reason(sent: str) -> str:
    """Return why the policy changes. Raise Invalid."""
    reason = clean_text(sent.strip())
    if not 0 < len(reason) <= MAX_REASON:
        message = _("must be text of 1 to %(limit)s characters")
        faults = {"reason": message % {"limit": grouped(MAX_REASON)}}
        raise Invalid(_("Explain why the policy changes."), faults)
    return reason


def _stored(document: Any) -> dict[str, Any]:
    """Return the stored form of a written policy. Raise Invalid with every fault by its path."""
    try:
        return stored_form(document, directory_of(document))
    except InvalidPolicy as error:
        faults = {path: translated(fault) for path, fault in error.faults.items()}
        raise Invalid(translated(error), faults) from error


def apply_proposal(number: int, *, by: User, via: Door) -> None:
    """Make a proposed version live that a second administrator has confirmed. Raise NotFound, NotAllowed or Conflict."""
    lock_standing(by)
    version = find_version(number)
    _require_proposed(version)
    live = live_version()
    _require_current(live, version.based_on)
    _go_live(version, live, by=by, via=via)


def decline_proposal(number: int, *, by: User, via: Door) -> None:
    """Decline a proposed version, or withdraw one's own. Raise NotFound or Conflict."""
    lock_standing(by)
    version = find_version(number)
    _require_proposed(version)
    _settle(version, VersionState.DECLINED, by=by)
    _record("policy.declined", version, by=by, via=via)


def require_no_own_loosening(
    version: PolicyVersion, live: PolicyVersion | None, *, by: Standing
) -> None:
    """Raise NotAllowed if a version would lift a limit on a decider who changes the policy."""
    if by.is_superuser or DECIDE not in by.rights:
        return
    before = EMPTY if live is None else live.document
    if before.get("four_eyes", False) and not version.document.get("four_eyes", False):
        raise NotAllowed(
            _(
                "You decide requests yourself, so you cannot turn off the two-person rule. Ask another "
                "administrator."
            )
        )
    (old_people, old_teams), (people, teams) = (
        voters_of(before),
        voters_of(version.document),
    )
    decides_as = {by.pk, *by.away_for}
    joins = (people - old_people) & decides_as
    if (
        joins
        or Group.objects.filter(pk__in=teams - old_teams, user__in=decides_as).exists()
    ):
        raise NotAllowed(
            _(
                "You decide requests yourself, so you cannot make yourself a voter. Ask another administrator."
            )
        )


def _require_administrator(by: Standing) -> None:
    if not may_administer(by):
        raise NotAllowed(_("Only administrators can change the policy."))


def _require_proposed(version: PolicyVersion) -> None:
    if version.state != VersionState.PROPOSED:
        state = str(VersionState(version.state).label)
        raise Conflict(
            _("Version %(number)s is already %(state)s.")
            % {"number": version.number, "state": state}
        )


def _require_current(live: PolicyVersion | None, based_on: int | None) -> None:
    if (live.number if live is not None else None) == based_on:
        return
    if live is None:
        raise Conflict(
            _("No version of the policy is live, so the change cannot be based on one.")
        )
    words = {"live": live.number, "name": live.settled_by_name}
    if based_on is None:
        raise Conflict(
            _(
                "Version %(live)s, applied by %(name)s, is live. Read it, and base your change on it."
            )
            % words
        )
    raise Conflict(
        _(
            "This change is based on version %(based_on)s, but version %(live)s, applied by %(name)s, is now "
            "live. Read it, and make your change again."
        )
        % (words | {"based_on": based_on})
    )


def _go_live(
    version: PolicyVersion, live: PolicyVersion | None, *, by: User, via: Door
) -> None:
    if live is not None:
        live.state, live.replaced_at = VersionState.REPLACED, timezone.now()
        live.save(update_fields=["state", "replaced_at"])
    _settle(version, VersionState.LIVE, by=by)
    _record("policy.applied", version, by=by, via=via)


def _settle(version: PolicyVersion, state: VersionState, *, by: User) -> None:
    version.state, version.settled_at = state, timezone.now()
    version.settled_by_id, version.settled_by_name = by.pk, by.get_username()
    version.save(
        update_fields=["state", "settled_at", "settled_by_id", "settled_by_name"]
    )


def _record(event: str, version: PolicyVersion, *, by: User, via: Door) -> None:
    data = {
        "version": version.number,
        "based_on": version.based_on,
        "digest": version.digest,
        "author": version.author_name,
        "reason": version.reason,
        "rules": len(version.document.get("rules", ())),
    }
    audit.record(event, SUBJECT, data=data, actor=by, via=via)
