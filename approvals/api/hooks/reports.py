"""Find the request behind a report of a call's result."""

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
    """Return the key of all calls with the same id, or without an id with the same content."""
    return key_of_calls("hook", call.agent.name, call.key)


def reported_request(call: HookCall, scope: str) -> ApprovalRequest | None:
    """Return the request of the reported call: by id, and by input where calls share the id or have none.

    None if there is none. Raise Invalid, or Conflict if several calls may have run.
    """
    if not call.named:
        call.require_storable()
        made = queries.approved_in_session(
            scope, call.session, call.agent.name, call.tool
        )
        return _reported(made, call) if made else None
    # The report does not say whether the call was deferred.
    ways = (call, replace(call, deferred=True))
    in_series = (
        queries.calls_of_tool(scope, series_of(way), call.tool) for way in ways
    )
    made = next(filter(None, in_series), [])
    if len(made) > 1:
        call.require_storable()
        return _reported(made, call)
    return next(iter(made), None)


def _reported(
    made: Sequence[ApprovalRequest], call: HookCall
) -> ApprovalRequest | None:
    """Return the request whose call has run, from several, latest first. Raise Conflict if it is ambiguous."""
    approved = [request for request in made if request.status == Status.APPROVED]
    same_input = [request for request in approved if _ran_with(request, call)]
    if not same_input and any(
        _asked_with(request, call) for request in made if request not in approved
    ):
        # Nothing is recorded for a call that was not approved.
        return None
    candidates = same_input or approved
    waiting = [request for request in candidates if request.report is None]
    if same_input and not call.named:
        # Equal calls without ids are the same to everyone, so they are reported in the order in which they were asked.
        return waiting[-1] if waiting else same_input[0]
    if len(waiting) > 1:
        message = _(
            "The input of this report does not show which of several approved calls ran. Nothing was recorded."
        )
        raise Conflict(message, str(waiting[0].pk))
    # All have results: the report is a repeat.
    return next(iter(waiting or candidates), None)


def _ran_with(request: ApprovalRequest, call: HookCall) -> bool:
    return (
        digest_for(request, call.input, request.decision).text
        == request.decision.approved_digest
    )


def _asked_with(request: ApprovalRequest, call: HookCall) -> bool:
    return digest_for(request, call.input).text == request.input_digest
