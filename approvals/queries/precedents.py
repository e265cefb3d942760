"""Earlier decisions on the same tool, as far as a person may see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals import queries
from approvals.access.permissions import sees_everything
from approvals.access.standing import Standing
from approvals.asking.digests import fingerprints_of
from approvals.models import ApprovalRequest
from approvals.queries.request_list import GIST, beginning_of_input
from approvals.states import Status, status_label

#: How many of the latest decisions are counted, and how many of those are listed.
COUNTED = 50
LISTED = 5
#: How many of the tool's latest requests are searched for the same values, and for people who see only their own.
SEARCHED = 500
#: Columns that are not read: only the title, the outcome and the beginning of the input of each are shown.
NOT_SHOWN = (
    *queries.BODIES,
    "step_path",
    "decision__edited_input",
    "decision__answer",
)


@dataclass(frozen=True, slots=True)
class Precedents:
    """The latest decisions on a tool: those with the same input first, then those with the same title; and their outcomes."""

    listed: Sequence[ApprovalRequest]
    #: Those of them with the same input and files.
    same: Collection[UUID]
    counts: Sequence[tuple[str, int]]
    total: int


def precedents_of(viewer: Standing, request: ApprovalRequest) -> Precedents | None:
    """Return the ended requests of the same tool and kind; None if there are none, or if the request names no tool."""
    if not request.tool_name:
        return None
    ended = ApprovalRequest.objects.filter(canonical_tool=request.tool_name).exclude(status=Status.PENDING)
    ended = ended.order_by("-changed_at")
    requests = (
        queries.with_names(queries.requests_for(viewer))
        .defer(*NOT_SHOWN, queries.UNREAD)
        .exclude(status=Status.PENDING)
    )
    requests = requests.annotate(**{"gist": beginning_of_input(GIST, decided=True)})
    if sees_everything(viewer):
        requests = requests.filter(canonical_tool=request.tool_name)
    else:
        # To bound the work, search only the latest requests of the tool, whoever made them.
        requests = requests.filter(pk__in=ended.values("pk")[:SEARCHED])
    latest = list(requests.filter(kind=request.kind).exclude(pk=request.pk).order_by("-changed_at")[:COUNTED])
    if not latest:
        return None
    # The same values may have been decided longer ago than the latest decisions.
    fingerprints = fingerprints_of(request)
    same = requests.filter(kind=request.kind, input_fingerprint__in=fingerprints).exclude(pk=request.pk)
    if sees_everything(viewer):
        same = same.filter(pk__in=ended.values("pk")[:SEARCHED])
    alike = list(same.order_by("-changed_at")[:LISTED]) if request.input else []
    known = {past.pk: past for past in (*latest, *alike)}.values()
    equal = {past.pk for past in known if past.input_fingerprint in fingerprints}
    nearest = sorted(known, key=lambda past: (past.pk not in equal, past.title != request.title))
    listed = nearest[:LISTED]
    counts = Counter(status_label(past.kind, past.status) for past in latest)
    return Precedents(listed, equal, counts.most_common(), len(latest))
