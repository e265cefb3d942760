"""Earlier decisions on the same tool that a person may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import BigAutoField, CharField, QuerySet, UUIDField

from approvals import queries
from approvals.access.permissions import sees_everything
from approvals.access.standing import Standing
from approvals.asking.digests import fingerprints_of
from approvals.db.fields import CanonicalNameField
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import ApprovalRequest
from approvals.queries.policy.scopes.first_rows import Reader
from approvals.queries.request_list import GIST, beginning_of_input
from approvals.queries.requests import whole_requests
from approvals.states import Status, status_label

#: How many of the latest decisions are counted, and how many of those are listed.
COUNTED = 50
LISTED = 5
#: How many of the tool's latest requests are searched for the same values, and for people with a limited view.
SEARCHED = 500
#: Columns that are not read: only the title, the outcome and the beginning of the input are shown.
NOT_SHOWN = (
    *queries.BODIES,
    "step_path",
    "decision__edited_input",
    "decision__answer",
)


@dataclass(frozen=True, slots=True)
class Precedents:
    """The latest decisions on a tool and their outcomes: first those with the same input, then those with the same title."""

    listed: Sequence[ApprovalRequest]
    #: Those of them with the same input and files.
    same: Collection[UUID]
    counts: Sequence[tuple[str, int]]
    total: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The part of an ended request that is compared and counted."""

    pk: UUID
    status: str
    title: str
    fingerprint: str | None


def _ended() -> QuerySet[ApprovalRequest]:
    """Return the ended requests of a tool, the latest first."""
    of_tool = ApprovalRequest.objects.filter(
        canonical_tool=Parameter("tool", CanonicalNameField())
    )
    return of_tool.exclude(status=Status.PENDING).order_by("-changed_at")


def _outcomes(
    who: Reader | None, *, alike: bool
) -> QuerySet[ApprovalRequest, tuple[Any, ...]]:
    """Return the latest requests of a tool and kind, but for one, that someone sees; None sees everything.

    If `alike`, only those with the same input and files.
    """
    requests = _ended()
    if who is not None:
        requests = (
            ApprovalRequest.objects.filter(who.all_rows)
            .exclude(status=Status.PENDING)
            .order_by("-changed_at")
        )
    if alike:
        requests = requests.filter(
            input_fingerprint__in=any_of(Parameter("fingerprints", Values()), str)
        )
    if alike or who is not None:
        # To bound the work, search only the latest requests of the tool, by any requester.
        requests = requests.filter(pk__in=_ended().values("pk")[:SEARCHED])
    requests = requests.filter(kind=Parameter("kind", CharField())).exclude(
        pk=Parameter("pk", UUIDField())
    )
    return requests.values_list("pk", "status", "title", "input_fingerprint")[
        : LISTED if alike else COUNTED
    ]


def _listed() -> QuerySet[ApprovalRequest]:
    """Return some requests with what is shown of each."""
    requests = queries.with_names(whole_requests()).defer(*NOT_SHOWN, queries.UNREAD)
    requests = requests.annotate(**{"gist": beginning_of_input(GIST, decided=True)})
    return requests.filter(pk__in=any_of(Parameter("listed", Values()), UUID))


_SOMEONE = Reader(
    Parameter("person", BigAutoField()), Parameter("scope_sets", Values())
)
#: The latest decisions on a tool: for someone who sees everything, and for others.
_LATEST = {
    who: Prepared(partial(_outcomes, who, alike=False)) for who in (None, _SOMEONE)
}
#: The latest with the same input, which may be older.
_ALIKE = {
    who: Prepared(partial(_outcomes, who, alike=True)) for who in (None, _SOMEONE)
}
#: The few of both that are shown.
_LISTED = Prepared(_listed)


def precedents_of(viewer: Standing, request: ApprovalRequest) -> Precedents | None:
    """Return the ended requests of the same tool and kind; None if there are none, or if the request has no tool."""
    if not request.tool_name or not viewer.is_active:
        return None
    values: dict[str, Any] = {
        "tool": request.tool_name,
        "kind": request.kind,
        "pk": request.pk,
    }
    who: Reader | None = None
    if not sees_everything(viewer):
        who = _SOMEONE
        values = values | {"person": viewer.pk, "scope_sets": viewer.scope_sets}
    latest = [_Outcome(*row) for row in _LATEST[who].all(**values)]
    if not latest:
        return None
    fingerprints = fingerprints_of(request)
    alike = (
        _ALIKE[who].all(**values, fingerprints=fingerprints) if request.input else []
    )
    known = {
        past.pk: past for past in (*latest, *(_Outcome(*row) for row in alike))
    }.values()
    equal = {past.pk for past in known if past.fingerprint in fingerprints}
    nearest = sorted(
        known, key=lambda past: (past.pk not in equal, past.title != request.title)
    )[:LISTED]
    shown = {
        past.pk: past for past in _LISTED.all(listed=[past.pk.hex for past in nearest])
    }
    counts = Counter(status_label(past.status, request.kind) for past in latest)
    # One may have been deleted since.
    listed = [shown[past.pk] for past in nearest if past.pk in shown]
    return Precedents(listed, equal, counts.most_common(), len(latest))
