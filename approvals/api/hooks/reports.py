"""Find the request that a report of what a call has done is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext as _

from approvals import queries
from approvals.api.hooks.bodies import HookCall
from approvals.asking.digests import digest_for
from approvals.asking.origins import key_of_calls
from approvals.exceptions import Conflict
from approvals.models import ApprovalRequest
from approvals.states import Status


def series_of(call: HookCall) -> str:
    """Return the key of all calls that are known by the same id, or by the same content without one."""
    return key_of_calls("hook", call.agent.name, call.key)


def reported_request(call: HookCall, scope: str) -> ApprovalRequest | None:
    """Return the request of the call that a report is about: by its id, and by its input where calls share the id.

    None if there is none. Raises Invalid, and Conflict if several calls may have run.
    """
    # The report does not say whether the call was deferred.
    ways = (call, replace(call, deferred=True))
    in_series = (queries.calls_of_tool(scope, series_of(way), call.tool) for way in ways)
    made: Sequence[ApprovalRequest] = next(filter(None, in_series), ())
    if len(made) > 1:
        call.require_storable()
        return _reported(made, call)
    # From before equal calls had a key.
    older = (queries.find_call(scope, way.key) for way in ways)
    return next(iter(made), None) or next(
        (request for request in older if request is not None and request.idempotency_key is None), None
    )


def _reported(made: Sequence[ApprovalRequest], call: HookCall) -> ApprovalRequest | None:
    """Return the one of several requests, the latest first, whose call has run. Conflict if that cannot be known."""
    approved = [request for request in made if request.status == Status.APPROVED]
    same_input = [request for request in approved if _ran_with(request, call)]
    if not same_input and any(_asked_with(request, call) for request in made if request not in approved):
        # Of a call that no one has approved nothing is recorded.
        return None
    candidates = same_input or approved
    waiting = [request for request in candidates if request.report is None]
    if len(waiting) > 1:
        message = _(
            "Several approved calls have the id %(id)s, and the input of this report does not say which of them ran. "
            "So nothing was recorded."
        )
        raise Conflict(message % {"id": call.tool_use}, str(waiting[0].pk))
    # All have results: the report is sent again.
    return next(iter(waiting or candidates), None)


def _ran_with(request: ApprovalRequest, call: HookCall) -> bool:
    return digest_for(request, call.input, request.decision).text == request.decision.approved_digest


def _asked_with(request: ApprovalRequest, call: HookCall) -> bool:
    return digest_for(request, call.input).text == request.input_digest
