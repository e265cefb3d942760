"""Recognize repeated calls, and give a decision to exactly one of several equal calls.

docs/decisions/coding-agents.md has the table of repeated calls and their outcomes.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.actions.publishing import publish_handling
from approvals.asking.asks import MAX_LENGTHS
from approvals.asking.origins import EqualCalls, key_of_calls
from approvals.exceptions import Conflict
from approvals.models import ApprovalRequest
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.queries.requests import SERIES_DIGITS, latest_of_calls
from approvals.states import Status

#: Decisions by people. Expired and cancelled requests leave nothing for a later call to consume.
_DECIDED = frozenset({Status.APPROVED, Status.REJECTED, Status.ANSWERED})
#: The columns with the call that has consumed the decision.
TAKING = ("taker", "taken_by", "taken_at")


def is_repeat(latest: ApprovalRequest, calls: EqualCalls) -> bool:
    """Return whether the latest request of equal calls is that of this call, which then consumes its decision."""
    if latest.report is not None and not (calls.named and calls.returns_results):
        return False
    if latest.pending or calls.named:
        return True
    return (
        latest.taker is not None
        and latest.status in _DECIDED
        and take_decision(latest, calls)
    )


def same_content(
    latest: ApprovalRequest, calls: EqualCalls, digest: str
) -> ApprovalRequest | None:
    """Return the latest request of a series with the same content as this call; None if there is none.

    Model vendors repeat ids, so calls with one id but different content are different calls.
    """
    if latest.ask_digest == digest:
        return latest
    return latest_of_calls(latest.scope, calls.key, digest=digest)


def used_before(name: str, request: ApprovalRequest) -> Conflict:
    """Return the refusal of a call with the id of another one."""
    message = _(
        "This %(name)s was already used with different content. Use a new one, or send the same content again."
    )
    return Conflict(message % {"name": name}, str(request.pk))


def next_ids(
    calls: EqualCalls, latest: ApprovalRequest | None, tool_call_id: str | None
) -> tuple[str, str | None]:
    """Return the key and the tool call id of the next request in a series: the second one gets the suffix `#2`."""
    if latest is None:
        return calls.key, tool_call_id
    # A call of another kind may have the same tool call id; then its key belongs to no series.
    in_series = (latest.idempotency_key or "").startswith(calls.key)
    number = (
        int((latest.idempotency_key or "")[len(calls.key) :] or 0) + 1
        if in_series
        else 1
    )
    key = f"{calls.key}{number:0{SERIES_DIGITS}}"
    if tool_call_id is None:
        return key, None
    numbered = f"{tool_call_id}#{number + 1}"
    return key, numbered if len(numbered) <= MAX_LENGTHS[
        "tool_call_id"
    ] else key_of_calls("call:", numbered)


def take_decision(request: ApprovalRequest, calls: EqualCalls) -> bool:
    """Let one call consume the decision of an ended request, on record; return False if another call has.

    The first call wins, and gets the decision again when repeated. A call with an id does not need to consume it.
    """
    if request.taker is None and calls.named:
        return True
    if not request.taker:
        _take(request, calls)
    return request.taker == calls.taker


def _take(request: ApprovalRequest, calls: EqualCalls) -> None:
    taken_by = calls.taken_by[:MAX_ACTOR_NAME]
    free = ApprovalRequest.objects.filter(taker="", pk=request.pk, status__in=_DECIDED)
    with transaction.atomic():
        if free.update(taker=calls.taker, taken_by=taken_by, taken_at=timezone.now()):
            publish_handling(
                "request.taken",
                request,
                record={"call": taken_by},
                actor=calls.by,
                via=calls.via,
            )
    # Also if it was free: the result depends on the stored values.
    request.refresh_from_db(fields=TAKING)
