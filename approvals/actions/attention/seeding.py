"""Plant seeded checks, keep what people did with them, and set them up. Nothing of a check leaves: it has one event of its own
in the audit log, without the person.
"""

from __future__ import annotations

import secrets
import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.actions.logins import SUBJECT
from approvals.exceptions import NotFound
from approvals.models import CheckCase, CheckSettings, Decision, SeededCheck
from approvals.queries.attention.people import on_pages
from approvals.queries.attention.seeded import check_for
from approvals.record import audit
from approvals.states import Door, Verdict

#: What someone did who neither approved nor rejected: wrote a note, assigned it, or the like. It is no approval.
OTHER = "other"
#: How far back people are looked for who decide, how many at once, and how often a process looks, in seconds.
LOOK_BACK, MOST_PEOPLE, PAUSE = timedelta(minutes=10), 200, 15.0
_looked_at = float("-inf")


def switched_on(now: Any) -> QuerySet[CheckSettings]:
    return CheckSettings.objects.filter(since__lte=now)


def plant_checks() -> None:
    """Plant the checks that are due, unless this process has just looked."""
    global _looked_at
    if time.monotonic() - _looked_at < PAUSE:
        return
    _looked_at = time.monotonic()
    plant_due_checks()


def plant_due_checks() -> int:
    """Plant a check for each person who has made enough decisions since the last one; return how many."""
    chosen = CheckSettings.objects.first()
    cases = list(CheckCase.objects.filter(removed_at=None).order_by("pk"))
    if chosen is None or not cases:
        return 0
    lately = _on_pages().filter(decided_at__gte=Now() - LOOK_BACK)
    people = lately.order_by().values_list("by_id", flat=True).distinct()[:MOST_PEOPLE]
    return sum(_plant(person, chosen, cases) for person in User.objects.filter(pk__in=list(people), is_active=True))


def _plant(person: User, chosen: CheckSettings, cases: list[CheckCase]) -> bool:
    last = SeededCheck.objects.filter(person=person).order_by("-created_at").first()
    if (last is not None and last.decided_at is None) or not permissions.decides_everything(standing_of(person)):
        return False
    since = max(chosen.since, last.decided_at or chosen.since) if last else chosen.since
    wanted = last.next_after if last else chosen.every
    own = _on_pages().filter(by_name=person.get_username(), by_id=person.pk, decided_at__gte=since)
    if own.order_by()[:wanted].count() < wanted:
        return False
    case = secrets.choice(cases)
    requester = own.order_by("-decided_at").values_list("request__requested_by", flat=True).first()
    try:
        with transaction.atomic():
            SeededCheck.objects.create(
                person=person,
                case=case,
                requested_by_id=requester or person.pk,
                next_after=_about(chosen.every),
            )
    except IntegrityError:
        # Another process was faster.
        return False
    return True


def _on_pages() -> QuerySet[Decision]:
    return Decision.objects.filter(on_pages())


def _about(every: int) -> int:
    """Return a number around this one, so that no one can count when the next check comes."""
    return every // 2 + 1 + secrets.randbelow(max(every, 1))


def answer_check(check_id: UUID, *, by: User, verdict: Verdict | None, unseen: int | None = None) -> SeededCheck:
    """Keep what a person did with a check of theirs: a verdict, or None for anything else. The first answer stands. NotFound."""
    with transaction.atomic():
        check = check_for(standing_of(by), check_id)
        if check is None:
            raise NotFound
        now = timezone.now()
        approves = verdict in {Verdict.APPROVE, Verdict.EDIT}
        changed = {"verdict": verdict or OTHER, "unseen": unseen if approves else None, "decided_at": now}
        if SeededCheck.objects.filter(pk=check.pk, decided_at=None).update(**changed):
            for name, value in changed.items():
                setattr(check, name, value)
            data = {"case": check.case.title, "verdict": check.verdict, "expected": check.case.expected}
            audit.record("check.answered", SUBJECT, data=data, actor=None, via=Door.SYSTEM, at=now)
            return check
    kept = check_for(standing_of(by), check_id)
    if kept is None:
        raise NotFound
    return kept


def switch_checks(every: int | None, *, by: User, via: Door) -> None:
    """Switch seeded checks on, with about so many decisions between two of a person, or off (None); on record."""
    with transaction.atomic():
        before = CheckSettings.objects.select_for_update().first()
        if (before.every if before else None) == every:
            return
        if every is None:
            CheckSettings.objects.all().delete()
        else:
            values = {"every": every, "since": timezone.now(), "by_id": by.pk, "by_name": by.get_username()}
            CheckSettings.objects.update_or_create(pk=1, defaults=values)
        data = {"change": "off" if every is None else "on", "every": every, "before": before.every if before else None}
        audit.record("check.changed", SUBJECT, data=data, actor=by, via=via)


def add_case(fields: dict[str, Any], *, by: User, via: Door) -> CheckCase:
    """Add what a check may show; on record."""
    with transaction.atomic():
        case = CheckCase.objects.create(**fields)
        audit.record("check.changed", SUBJECT, data={"change": "case added", "case": case.title}, actor=by, via=via)
    return case


def remove_case(case_id: int, *, by: User, via: Door) -> None:
    """Show a case no more, and end the checks with it that wait; on record. NotFound."""
    with transaction.atomic():
        case = CheckCase.objects.filter(pk=case_id, removed_at=None).first()
        if case is None or not CheckCase.objects.filter(pk=case_id, removed_at=None).update(removed_at=timezone.now()):
            raise NotFound(_("There is no such case. Someone may have removed it."))
        SeededCheck.objects.filter(case=case, decided_at=None).delete()
        audit.record("check.changed", SUBJECT, data={"change": "case removed", "case": case.title}, actor=by, via=via)
