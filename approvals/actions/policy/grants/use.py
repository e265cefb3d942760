"""Use a grant: count the use in the transaction that stores a request as approved.

The counting statement is conditional: the grant is alive by the clock of the database, has uses left, and its giver may still
decide. Of several simultaneous requests, only as many get a use as are left.
"""

from __future__ import annotations

from copy import copy

from django.db.models import Case, F, Q, TextField, UUIDField, Value, When
from django.db.models.functions import Now

from approvals.db import transactions
from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Update
from approvals.models import Grant
from approvals.queries.policy.grants.grant_sql import usable_grants
from approvals.states import GrantEnd

#: The last use ends the grant.
_LAST = Q(uses=F("used") + 1)
#: Counts a use of a grant that can still be used.
_USE = Update(
    lambda: usable_grants().filter(pk=Parameter("pk", UUIDField())),
    used=F("used") + 1,
    last_used_at=Now(),
    ended_at=Case(When(_LAST, then=Now()), default=F("ended_at")),
    ended_why=Case(
        When(_LAST, then=Value(GrantEnd.USED_UP)),
        default=F("ended_why"),
        output_field=TextField(),
    ),
    returning=("used", "last_used_at", "ended_at", "ended_why"),
)


def use_grant(grant: Grant, *, alone: bool) -> Grant | None:
    """Count a use of a grant, and return the updated grant; None if it can no longer be used.

    `alone`: the transaction stores no other request.
    """
    if not alone:
        # Transactions that use several grants in different orders could deadlock.
        transactions.lock_name(f"grants of {grant.requested_by_id}")
    row = _USE.row(pk=grant.pk)
    if row is None:
        return None
    used = copy(grant)
    used.used, used.last_used_at, used.ended_at, used.ended_why = row
    return used
