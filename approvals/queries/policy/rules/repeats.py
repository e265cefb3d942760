"""People's earlier decisions on the same call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import BigIntegerField, CharField, DateTimeField, Q, QuerySet
from django.db.models.functions import Coalesce

from approvals.db.fields import CanonicalNameField
from approvals.db.literal import literal
from approvals.db.prepared import Parameter, Prepared
from approvals.models import Decision
from approvals.policy.rules import REPEAT_DAYS
from approvals.states import Door, Kind, Status, Verdict


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejection by a person."""

    request_id: UUID
    by_name: str
    at: datetime
    comment: str


def _latest() -> QuerySet[Decision, tuple[UUID, str, str, datetime, str]]:
    by_person = Q(by_id__isnull=False) & ~Q(via__in=[Door.RULE, Door.GRANT])
    return (
        # In the words of the index `request_same_decided`, which excludes repeated rejections.
        Decision.objects.filter(
            request__requested_by_id=Parameter("requester", BigIntegerField()),
            request__input_fingerprint=Parameter("fingerprint", CharField()),
            request__kind=literal(Kind.APPROVAL),
            request__status__in=[literal(Status.APPROVED), literal(Status.REJECTED)],
            request__repeats__isnull=True,
            request__changed_at__gte=Parameter("since", DateTimeField()),
        )
        # Keeps planners from preferring the index of the tool.
        .alias(
            tool=Coalesce(
                "request__canonical_tool",
                "request__tool_name",
                output_field=CanonicalNameField(),
            )
        )
        .filter(
            Q(verdict__in=[Verdict.APPROVE, Verdict.EDIT]) | by_person,
            tool=Parameter("tool", CanonicalNameField()),
            request__agent=Parameter("agent", CharField()),
            request__attachments__isnull=True,
        )
        .order_by("-request__changed_at")
        .values_list("request_id", "verdict", "by_name", "decided_at", "comment")[:1]
    )


#: The latest decision on the same call: by a person, or any approval.
LATEST = Prepared(_latest)


def earlier_rejection(
    fingerprints: Sequence[str], *, requester: int, tool: str, agent: str, now: datetime
) -> Rejection | None:
    """Return a person's rejection of the same call in the last days; None if there is none, or if it was approved since.

    Requests with a former key's fingerprint were decided before all those with the current one's.
    """
    known = {
        "requester": requester,
        "since": now - timedelta(days=REPEAT_DAYS),
        "tool": tool,
        "agent": agent,
    }
    rows = (
        LATEST.first(fingerprint=fingerprint, **known) for fingerprint in fingerprints
    )
    row = next(filter(None, rows), None)
    if row is None or row[1] != Verdict.REJECT:
        return None
    request_id, _verdict, by_name, at, comment = row
    return Rejection(request_id, by_name, at, comment)
