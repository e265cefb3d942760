"""The decision record of a request: one printable page with the requested, decided and executed input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.asking.secrets import masked_column, masked_input
from approvals.forms.decision import name_to_type
from approvals.http import SignedIn, refusals_as_pages
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.models.attachments import files_of
from approvals.pages.audit.lines import words_of
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.queries.results import results_of
from approvals.shown.entries import ShownEntry, shown_entry
from approvals.shown.requests import ShownDecision, shown_decision, shown_request
from approvals.states import APPROVING, OWN_PAGES
from approvals.text.qr import qr_code
from approvals.text.tables import pretty
from approvals.text.text import visible, visible_json

#: Maximum characters of a value, and maximum entries on the page.
MAX_INPUT = 1_200
MAX_OUTPUT = 600
MAX_ENTRIES = 10


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value as text: its beginning, and the number of omitted characters."""

    text: str
    left_out: int


@require_GET
@refusals_as_pages
def decision_record(request: SignedIn, pk: UUID) -> HttpResponse:
    """Show the record of a request that the person may see, decided or not."""
    approval_request = queries.get_request_for(request.standing, pk)
    made: Decision | None = getattr(approval_request, "decision", None)
    decision = (
        None
        if made is None
        else shown_decision(approval_request, made, grant=made.grant)
    )
    requested = approval_request.input
    message = masked_column(approval_request, "message")
    ballot = ballot_of(approval_request)
    result = results_of([approval_request]).get(approval_request.pk)
    output = (
        result.output if result is not None and result.state == "succeeded" else None
    )
    context = {
        "asked": shown_request(approval_request),
        "public_url": approval_request.public_url,
        "workflow": approval_request.workflow,
        "decision": decision,
        "result": result,
        "input": _value(masked_input(approval_request, requested), MAX_INPUT)
        if requested
        else None,
        "requested_digest": approval_request.input_digest if requested else "",
        "edited": _value(decision.edited_input, MAX_INPUT)
        if decision and decision.edited_input is not None
        else None,
        "answer": _value(decision.answer, MAX_OUTPUT)
        if decision and decision.answer is not None
        else None,
        "output": _value(output, MAX_OUTPUT) if output is not None else None,
        "message": _beginning(visible(message), MAX_OUTPUT) if message else None,
        "ballot": ballot,
        "deciders": ballot.deciders(decision.verdict, break_glass=decision.break_glass)
        if ballot and decision
        else [],
        "proposed": _proposed(approval_request),
        "files": files_of(approval_request.attachments),
        "typed_name": _typed_name(approval_request, decision),
        "own_workflow": approval_request.workflow.key == str(approval_request.pk),
        "entries": _entries(approval_request)
        if _sees_entries(request.standing, approval_request)
        else [],
        "qr": qr_code(approval_request.public_url),
        "printed_at": timezone.now(),
    }
    return render(request, "approvals/audit/record.html", context)


def _proposed(request: ApprovalRequest) -> Value | None:
    """Return the changed input that people now vote on, in place of the original one."""
    if not request.pending or not request.proposal:
        return None
    return _value(masked_input(request, request.proposal["input"]), MAX_INPUT)


def _value(value: Any, limit: int) -> Value:
    return _beginning(visible_json(pretty(value)), limit)


def _beginning(text: str, limit: int) -> Value:
    return Value(text[:limit], max(len(text) - limit, 0))


def _typed_name(request: ApprovalRequest, decision: ShownDecision | None) -> str:
    """Return the name typed to approve a critical request; the pages accept no approval without it."""
    typed = (
        decision is not None
        and decision.verdict in APPROVING
        and decision.via in OWN_PAGES
    )
    return visible(name_to_type(request)) if typed else ""


def _sees_entries(viewer: Standing, request: ApprovalRequest) -> bool:
    sees_it_all = permissions.may_see_workflow(
        viewer, request.workflow
    ) or permissions.in_reach(viewer, request)
    return permissions.reads_record(viewer) or sees_it_all


def _entries(request: ApprovalRequest) -> list[tuple[ShownEntry, str]]:
    """Return the last audit entries of the request in order, each with a description."""
    entries = AuditEntry.objects.filter(request_id=request.pk).order_by("-pk")[
        :MAX_ENTRIES
    ]
    return [
        (shown_entry(entry), words_of(entry, entry.data, request.kind))
        for entry in reversed(entries)
    ]
