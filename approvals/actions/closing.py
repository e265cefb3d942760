"""End workflows, and record the results of approved calls that clients report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.standing import read_again
from approvals.actions import publishing, rows
from approvals.actions.deciding import cancel_requests
from approvals.actions.decisions.writes import Outcome
from approvals.actions.locking import lock_known_workflow, lock_visible_request
from approvals.actions.results import ToolResult, record_other_input, record_tool_result
from approvals.asking.answers import ABSENT
from approvals.asking.calls import RequestOfCall
from approvals.db.canonical_json import same_json
from approvals.db.prepared_writes import Write, write_together
from approvals.exceptions import Conflict, NotAllowed, NotApproved, OtherInput
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor
from approvals.outbound import outbox
from approvals.record import audit
from approvals.states import ENDED, Door, Kind, Status, WorkflowState

#: Recorded untranslated, so that the audit log has one text for it.
WORKFLOW_ENDED = "The workflow has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedResult:
    """The reported result of an approved call: its output, or its error. `input_digest` is that of the executed input."""

    input_digest: str
    output: Any = ABSENT
    error_text: str = ""


def end_of_workflow(workflow: Workflow, *, state: WorkflowState) -> Write:
    """Return the write that ends a workflow without pending requests and notifies open pages; a second end changes nothing."""
    assert state in ENDED
    write = rows.END_WORKFLOW.of(
        pk=workflow.pk,
        state=state,
        ended_at=timezone.now(),
        urgency=None,
        suspended_at=None,
    )
    return replace(write, stored=lambda _row: publishing.notify(workflow))


def close_workflow(
    workflow_id: int, *, state: WorkflowState, by: Actor, via: Door
) -> bool:
    """End a workflow and cancel its pending requests; return False if it had already ended in this state.

    Raise Conflict if it had ended in another state, NotAuthenticated or ScopeMissing.
    """
    assert state in ENDED
    with transaction.atomic():
        workflow = lock_known_workflow(workflow_id)
        cancelled = 0
        read_again(by)
        known = workflow.ended
        if not known:
            waiting = workflow.requests.filter(status=Status.PENDING).values_list(
                "pk", flat=True
            )
            cancelled = cancel_requests(
                list(waiting), by=by, via=via, comment=WORKFLOW_ENDED
            )
            write_together([end_of_workflow(workflow, state=state)])
            workflow.refresh_from_db()
        if cancelled:
            # A workflow of one request has ended with it; the client's own state takes precedence.
            Workflow.objects.filter(pk=workflow_id).update(state=state)
        elif workflow.state != state:
            raise Conflict(
                _("This workflow has already ended with the state %(state)s.")
                % {"state": workflow.state}
            )
    return not known


def report_result(
    request_id: UUID, result: ReportedResult, *, scope: str, by: Actor, via: Door
) -> Outcome:
    """Record the result of an approved call, once; `replayed` if the same was reported before.

    Only for the client (`scope`) that asked. Raise NotFound, NotAllowed, NotApproved, OtherInput (the executed input is not the
    approved one, which is recorded, but not as the result), or Conflict (another result was reported before).
    """
    with transaction.atomic():
        request = lock_visible_request(request_id, by).request
        if request.scope != scope:
            raise NotAllowed(
                _("Only the client that made this request can report its result.")
            )
        if request.kind != Kind.APPROVAL or request.status != Status.APPROVED:
            raise NotApproved(request)
        done = _tool_result(request, result)
        if result.input_digest == request.decision.approved_digest:
            replayed = not _record_result(request, done, by, via)
            return Outcome(request, request.decision, replayed=replayed)
        record_other_input(done, request, actor=by, via=via)
    # Outside the transaction, so that the record of it stays.
    raise OtherInput(request.decision.approved_digest)


def _record_result(
    request: ApprovalRequest, done: ToolResult, by: Actor, via: Door
) -> bool:
    subject = audit.subject_of(request, request.workflow)
    # A request outside any tool call counts as one of its own.
    subject = replace(subject, tool_call_id=subject.tool_call_id or str(request.pk))
    event = outbox.request_data(request, request.workflow)
    of_call = RequestOfCall.of(request, request.workflow)
    if record_tool_result(
        done, subject, event=event, actor=by, via=via, request=of_call
    ):
        return True
    known = audit.find_recorded("tool.result", subject)
    if known is None or not same_json(known.data, done.data):
        raise Conflict(
            _("A different result was already reported for this call."), str(request.pk)
        )
    return False


def _tool_result(request: ApprovalRequest, result: ReportedResult) -> ToolResult:
    edited = request.decision.edited_input
    return ToolResult(
        state="failed" if result.output is ABSENT else "succeeded",
        input=request.input if edited is None else edited,
        input_digest=request.decision.approved_digest,
        executed_digest=result.input_digest,
        output=None if result.output is ABSENT else result.output,
        error_text=result.error_text,
        executions=1,
    )
