"""Count tries of codes, keep used codes from working again, and record factors that are added or removed.

Both are kept with the factor in the database: allauth keeps them in the cache, which several processes may not share.
"""

from __future__ import annotations

import time
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import transaction

from approvals.actions.logins import SUBJECT
from approvals.record import audit
from approvals.states import Door

#: Wrong codes in a row after which each further one has to wait.
MOST_TRIES = 10
#: Seconds of that wait. A code is right by chance once in some years of tries, even for someone who knows the password.
WAIT = 300


def begin_try(person: User) -> bool:
    """Count a try of a code, before it is checked; return whether it may be checked."""
    with transaction.atomic():
        factor = _locked(person)
        if factor is None:
            return True
        data: dict[str, Any] = factor.data
        tries = data.get("tries", 0)
        now = time.time()
        if tries >= MOST_TRIES and now < data["tried_at"] + WAIT:
            return False
        factor.data = data | {"tries": tries + 1, "tried_at": now}
        factor.save(update_fields=["data"])
    return True


def finish_try(person: User, *, step: int | None) -> bool:
    """Forget the tries after a right code; return False if it was of a time `step` that was used, or of an earlier one."""
    with transaction.atomic():
        factor = _locked(person)
        if factor is None:
            return False
        data: dict[str, Any] = factor.data
        if step is not None:
            if step <= data.get("step", 0):
                return False
            data["step"] = step
        factor.data = data | {"tries": 0}
        factor.save(update_fields=["data"])
    return True


def _locked(person: User) -> Authenticator | None:
    """Return the person's locked app, or their recovery codes if they have no app."""
    codes = Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN)
    # The app is the last in the alphabet.
    factor: Authenticator | None = (
        codes.select_for_update().filter(user=person).order_by("-type").first()
    )
    return factor


def record_factor(event: str, person: User, *, factor: str, address: str) -> None:
    data = {"factor": factor, "address": address}
    audit.record(event, SUBJECT, data=data, actor=person, via=Door.DASHBOARD)
