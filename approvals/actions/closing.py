"""How a workflow ends, and what became of what was approved: said by the code that asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions import publishing
from approvals.actions.deciding import locked, withdraw
from approvals.asking.asks import ABSENT
from approvals.exceptions import Conflict, NotAllowed, NotApproved, NotFound, OtherInput
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor
from approvals.outbound import outbox
from approvals.record import audit
from approvals.runtime.canonical import MAX_BYTES, MAX_DEPTH, canonical
from approvals.states import ENDED, Door, Kind, Status, WorkflowState


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What an approved call did: its output, or why it failed; `input_digest` is of the input that was run."""

    input_digest: str
    output: Any = ABSENT
    error_text: str = ""


def end_workflow(workflow: Workflow, *, state: WorkflowState) -> None:
    """Close a workflow that waits for nobody; a second end changes nothing."""
    assert state in ENDED
    with transaction.atomic():
        ended = Workflow.objects.filter(pk=workflow.pk, open_count=0).exclude(state__in=ENDED)
        if ended.update(state=state, ended_at=timezone.now(), urgency=None, suspended_at=None):
            publishing.ring(workflow)


def close_workflow(workflow_id: int, *, state: WorkflowState, by: Actor, via: Door) -> bool:
    """Close a workflow and withdraw what it still asks; False if it had ended like this before.

    Conflict if it had ended otherwise.
    """
    assert state in ENDED
    with transaction.atomic():
        workflow, withdrawn = Workflow.objects.select_for_update(no_key=True).get(pk=workflow_id), 0
        known = workflow.ended
        if not known:
            waiting = workflow.requests.filter(status=Status.PENDING).values_list("pk", flat=True)
            withdrawn = withdraw(list(waiting), by=by, via=via, comment=_("The workflow has ended."))
            end_workflow(workflow, state=state)
            workflow.refresh_from_db()
        if withdrawn:
            # A workflow of one request has ended with its withdrawal; what its client says of it counts.
            Workflow.objects.filter(pk=workflow_id).update(state=state)
        elif workflow.state != state:
            raise Conflict(_("This workflow has already ended with the state %(state)s.") % {"state": workflow.state})
    return not known


def report_result(request_id: UUID, result: Result, *, scope: str, by: Actor, via: Door) -> bool:
    """Put on record what an approved call did, once; False if the same was reported before.

    Only for the client (`scope`) that asked. NotFound, NotAllowed, NotApproved, OtherInput (it ran something else than
    was approved), Conflict (another result was reported before).
    """
    with transaction.atomic():
        request = locked(request_id)
        if request is None or not permissions.may_see(by, request):
            raise NotFound
        if request.scope != scope:
            raise NotAllowed(_("Only the client that made this request can report its result."))
        if request.kind != Kind.APPROVAL or request.status != Status.APPROVED:
            raise NotApproved(request)
        if result.input_digest != request.decision.approved_digest:
            raise OtherInput(request.decision.approved_digest)
        data = _record(request, result)
        subject = audit.subject_of(request, request.workflow)
        # A request outside any tool call counts as one of its own.
        subject = replace(subject, tool_call_id=subject.tool_call_id or str(request.pk))
        known = audit.recorded("tool.result", subject)
        if known is not None and _bytes(known.data) != _bytes(data):
            raise Conflict(_("A different result was already reported for this call."), str(request.pk))
        if not audit.record_once("tool.result", subject, data=data, actor=by, via=via):
            return False
        _tell(request, subject, data)
    return True


def _bytes(data: Mapping[str, Any]) -> bytes:
    # The values were checked when they came in; together they are larger than one may be.
    return canonical(data, max_depth=MAX_DEPTH + 8, max_bytes=8 * MAX_BYTES)


def _record(request: ApprovalRequest, result: Result) -> dict[str, Any]:
    """What the record keeps; the shape of every `tool.result`."""
    edited = request.decision.edited_input
    return {
        "state": "failed" if result.output is ABSENT else "succeeded",
        "input": request.input if edited is None else edited,
        "input_digest": request.decision.approved_digest,
        "executed_digest": result.input_digest,
        "output": None if result.output is ABSENT else result.output,
        "error_text": result.error_text,
        "executions": 1,
    }


def _tell(request: ApprovalRequest, subject: audit.Subject, data: dict[str, Any]) -> None:
    told = outbox.request_data(request, request.workflow) | {
        "tool_call_id": subject.tool_call_id,
        "state": data["state"],
        "executions": data["executions"],
    }
    outbox.enqueue("tool.result", stream=outbox.stream_of(request.scope, request.workflow.key), data=told)
    publishing.ring(request.workflow, request_id=str(request.pk))
