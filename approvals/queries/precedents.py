"""What was decided before about the same tool, as far as a person may see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from approvals import queries
from approvals.access.permissions import Person, sees_everything
from approvals.models import ApprovalRequest
from approvals.states import Status

#: The latest that are looked at for each request that is shown, and of them so many are listed.
LOOKED_AT = 50
LISTED = 5
#: For people who see only what is theirs: how many of everybody's are looked through.
LOOKED_THROUGH = 500
#: Of each, only its title and its outcome are shown.
UNSHOWN = (
    *queries.BODIES,
    "step_path",
    "decision__edited_input",
    "decision__answer",
)


@dataclass(frozen=True, slots=True)
class Precedents:
    """The latest decisions on a tool, those with the same title first, and how many ended how."""

    listed: Sequence[ApprovalRequest]
    counts: Sequence[tuple[str, int]]
    total: int


def precedents_of(user: Person, request: ApprovalRequest) -> Precedents | None:
    """Ended requests of the same tool and kind; None where there are none, or where no tool asked."""
    if not request.tool_name:
        return None
    ended = ApprovalRequest.objects.filter(tool_name=request.tool_name).exclude(status=Status.PENDING)
    ended = ended.order_by("-changed_at")
    found = queries.requests_for(user).defer(*UNSHOWN, queries.UNREAD).exclude(status=Status.PENDING)
    if sees_everything(user):
        found = found.filter(tool_name=request.tool_name)
    else:
        # A bounded look: the tool's newest, whoever they belong to, and of them those that are this person's.
        found = found.filter(pk__in=ended.values("pk")[:LOOKED_THROUGH])
    latest = list(found.filter(kind=request.kind).exclude(pk=request.pk).order_by("-changed_at")[:LOOKED_AT])
    if not latest:
        return None
    listed = sorted(latest, key=lambda one: one.title != request.title)[:LISTED]
    counts = Counter(one.get_status_display() for one in latest)
    return Precedents(listed, counts.most_common(), len(latest))
