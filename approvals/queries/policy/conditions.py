"""When a grant can be used and when it ends by itself, in SQL and by the clock of the database.

One set of conditions: the statement that uses a grant requires that none of them has come true, and the sweep ends the grants
of which one has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, F, IntegerField, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Now

from approvals.access.permissions import deciders
from approvals.models import AskAlways, Grant, ToolSettings
from approvals.states import GrantEnd


def _endless(term: str) -> Coalesce:
    """Return a term of the grant, or if it has none, more than any limit."""
    return Coalesce(OuterRef(term), Value(2**31 - 1), output_field=IntegerField())


def endings(now: Any) -> Mapping[GrantEnd, Q]:
    """Return why a grant that has not ended has to, each with its condition; of several, the first is the reason."""
    active = User.objects.filter(is_active=True)
    widest = Coalesce("grant_width", OuterRef("default_width"), output_field=IntegerField())
    beyond = ToolSettings.objects.alias(widest=widest).filter(
        Q(no_grants=True)
        | Q(widest__lt=OuterRef("width"))
        | Q(grant_seconds__lt=_endless("seconds"))
        | Q(grant_uses__lt=_endless("uses")),
        tool_name=OuterRef("canonical_tool"),
    )
    return {
        GrantEnd.EXPIRED: Q(until__lte=now),
        GrantEnd.USED_UP: Q(used__gte=F("uses")),
        GrantEnd.GIVER_LEFT: ~Q(given_by_id__in=active.values("pk")),
        GrantEnd.RIGHT_LOST: ~Q(given_by_id__in=deciders().values("pk")),
        GrantEnd.BEYOND_LIMIT: Q(Exists(beyond)),
    }


def due_grants(now: Any) -> QuerySet[Grant]:
    """Return the grants that have to end."""
    return Grant.objects.filter(reduce(or_, endings(now).values()), ended_at=None)


def usable_grants() -> QuerySet[Grant]:
    """Return the grants that can be used now; none while everything has to be asked."""
    ending = reduce(or_, endings(Now()).values())
    return Grant.objects.filter(~ending, ~Q(Exists(AskAlways.objects.all())), ended_at=None)
