"""Use a grant: in the transaction that stores a request as approved, count the use.

The statement that counts is conditional: the grant is alive by the clock of the database, has uses left, and its giver may
still decide. Of any number of requests at the same moment, so many get a use as there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import BigIntegerField, Case, CharField, F, Q, TextField, UUIDField, Value, When
from django.db.models.functions import Now

from approvals.asking.digests import grant_targets
from approvals.db import transactions
from approvals.db.canonical_name import CanonicalNameField
from approvals.db.many import Values, any_of
from approvals.db.prepared import Parameter, Prepared, Update
from approvals.models import ApprovalRequest, Grant, Workflow
from approvals.policy.grants import bar_of
from approvals.policy.rules import Verdict
from approvals.queries.policy.conditions import usable_grants
from approvals.queries.policy.deciders import deciders_among
from approvals.states import Audience, GrantEnd

_SCOPE = Parameter("scope", CharField())
#: The grants that cover a request, the narrowest first; and of these the one that ends first by its uses or its time.
_COVERING: Prepared[Grant] = Prepared(
    lambda: (
        usable_grants()
        .filter(
            Q(audience=Audience.AGENT, agent=Parameter("agent", CharField()))
            | Q(audience=Audience.KEY, scope=_SCOPE)
            | Q(audience=Audience.WORKFLOW, scope=_SCOPE, workflow_key=Parameter("workflow", CharField()))
            | Q(audience=Audience.THREAD, scope=_SCOPE, thread_id=Parameter("thread", CharField())),
            requested_by_id=Parameter("requester", BigIntegerField()),
            canonical_tool=Parameter("tool", CanonicalNameField()),
            target__in=any_of(Parameter("targets", Values()), str),
        )
        .order_by("width", "given_at")
    )
)
#: The last use ends the grant.
_LAST = Q(uses=F("used") + 1)
_USE = Update(
    lambda: usable_grants().filter(pk=Parameter("pk", UUIDField())),
    used=F("used") + 1,
    last_used_at=Now(),
    ended_at=Case(When(_LAST, then=Now()), default=F("ended_at")),
    ended_why=Case(When(_LAST, then=Value(GrantEnd.USED_UP)), default=F("ended_why"), output_field=TextField()),
    returning=("used", "last_used_at", "ended_at", "ended_why"),
)


def covering_grants(
    request: ApprovalRequest,
    workflow: Workflow,
    fingerprints: Sequence[str],
    key_fields: Sequence[str],
    *,
    verdict: Verdict,
) -> list[Grant]:
    """Return the grants that cover a request that is about to be stored, in the order in which they are used.

    `verdict` is what the policy says about it.
    """
    if bar_of(request.kind, request.priority, request.tool_name, verdict=verdict) is not None:
        return []
    if request.deadline_at is not None and request.deadline_at <= request.created_at:
        return []
    targets = grant_targets(request.input, fingerprints, key_fields, has_files=bool(request.attachments))
    return _COVERING.all(
        requester=request.requested_by_id,
        tool=request.tool_name,
        targets=targets,
        agent=request.agent,
        scope=request.scope,
        workflow=workflow.key,
        thread=workflow.thread_id,
    )


def use_one(request: ApprovalRequest, covering: Sequence[Grant], *, alone: bool) -> Grant | None:
    """Count a use of the first of these grants that no one has used up meanwhile, for a request that was just stored.

    `alone` says that the transaction stores no other request.
    """
    if covering and (request.scoped_upto is not None or request.control):
        # Whom scopes or the control of the tool do not let decide this request cannot approve it by a grant either.
        deciders = deciders_among(request, {grant.given_by_id for grant in covering})
        covering = [grant for grant in covering if grant.given_by_id in deciders]
    if covering and not alone:
        # Two transactions that use several grants in different orders would wait for each other.
        transactions.lock_name(f"grants of {request.requested_by_id}")
    for grant in covering:
        used = _USE.row(pk=grant.pk)
        if used is not None:
            grant.used, grant.last_used_at, grant.ended_at, grant.ended_why = used
            return grant
    return None
