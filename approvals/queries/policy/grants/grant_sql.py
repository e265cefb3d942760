"""Conditions of grants in SQL, by the clock of the database: whether one can be used, covers a call, or ends by itself.

The conditions for its end exist once: the statement that uses a grant requires that none of them holds, and the sweep ends grants
for which one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import User
from django.db.models import (
    BigIntegerField,
    CharField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Coalesce, Now

from approvals.access.permissions import deciders
from approvals.db.fields import CanonicalNameField
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import AskAlways, Grant, ToolSettings, Workflow
from approvals.states import Audience, GrantEnd


def _endless(term: str) -> Coalesce:
    """Return a term of the grant; if it has none, a value above any limit."""
    return Coalesce(OuterRef(term), Value(2**31 - 1), output_field=IntegerField())


def endings(now: Any) -> Mapping[GrantEnd, Q]:
    """Return the reasons to end an active grant, each with its condition; the first one that holds is recorded."""
    active = User.objects.filter(is_active=True)
    widest = Coalesce(
        "grant_width", OuterRef("default_width"), output_field=IntegerField()
    )
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
    return Grant.objects.filter(
        ~ending, ~Q(Exists(AskAlways.objects.all())), ended_at=None
    )


_SCOPE = Parameter("scope", CharField())
#: The grants that cover a request, narrowest first; equal ones by the earliest end in uses or time.
_COVERING: Prepared[Grant] = Prepared(
    lambda: (
        usable_grants()
        .filter(
            Q(audience=Audience.AGENT, agent=Parameter("agent", CharField()))
            | Q(audience=Audience.KEY, scope=_SCOPE)
            | Q(
                audience=Audience.WORKFLOW,
                scope=_SCOPE,
                workflow_key=Parameter("workflow", CharField()),
            )
            | Q(
                audience=Audience.THREAD,
                scope=_SCOPE,
                thread_id=Parameter("thread", CharField()),
            ),
            requested_by_id=Parameter("requester", BigIntegerField()),
            canonical_tool=Parameter("tool", CanonicalNameField()),
            target__in=any_of(Parameter("targets", Values()), str),
        )
        .order_by("width", "given_at")
    )
)


def covering_grants(
    workflow: Workflow, *, requester: int, tool: str, targets: Sequence[str]
) -> list[Grant]:
    """Return the grants that cover a call in this workflow, in the order of use.

    `targets` are those of all grants that can cover its input (`asking.digests.grant_targets`).
    """
    return _COVERING.all(
        requester=requester,
        tool=tool,
        targets=targets,
        agent=workflow.agent,
        scope=workflow.scope,
        workflow=workflow.key,
        thread=workflow.thread_id,
    )
