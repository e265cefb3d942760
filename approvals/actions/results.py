"""Record the results of tool calls, once per call, and calls denied by a key's lists."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from django.db import transaction

from approvals.actions.publishing import hidden_record, notify, notify_of
from approvals.actions.rows import index_result
from approvals.asking.calls import RequestOfCall
from approvals.db.canonical_json import digest
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, AuditEntry, ToolSettings
from approvals.models.actors import Actor, Signatory
from approvals.outbound import outbox
from approvals.queries.preferences import settings_of_tools
from approvals.record import audit
from approvals.record.amounts import amount_at, amount_pointer
from approvals.record.events import DENIED, OTHER_INPUT
from approvals.states import Door


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The data of a `tool.result` audit entry.

    `input` is the approved input, or the requested one where nothing needed approval; `input_digest` is its digest, and
    `executed_digest` that of the executed input, empty if none was. `executions` counts the runs.
    """

    state: str
    input: Any
    input_digest: str
    executed_digest: str
    output: Any
    error_text: str
    executions: int

    @property
    def data(self) -> JsonDict:
        return {field.name: getattr(self, field.name) for field in fields(self)}


#: Maximum reports of other inputs recorded for one request, so that a broken client cannot fill the log.
MAX_OTHER_INPUTS = 10


def record_other_input(
    result: ToolResult, request: ApprovalRequest, *, actor: Signatory, via: str
) -> None:
    """Record that a call ran with a different input than the approved one, once per executed input.

    It is not a result: one can still be reported. The caller holds the lock of the workflow.
    """
    # Without the input: the executed one is unknown, and the approved one did not run.
    data = {
        name: value for name, value in result.data.items() if name != "input"
    } | hidden_record(request)
    subject = audit.subject_of(request, request.workflow, changed=result.input)
    key = audit.repeat_key(OTHER_INPUT, subject, data)
    known = AuditEntry.objects.filter(request_id=request.pk, event=OTHER_INPUT)
    if known.count() >= MAX_OTHER_INPUTS and not known.filter(dedup_key=key).exists():
        return
    if audit.record_once(OTHER_INPUT, subject, data=data, actor=actor, via=via):
        index_result(request, result.output, result.error_text)
    notify(
        request.workflow,
        request.requested_by_id,
        request.assigned_to_id,
        request_id=str(request.pk),
    )


def record_tool_result(
    result: ToolResult,
    subject: audit.Subject,
    *,
    event: JsonMapping,
    actor: Signatory | None,
    via: str,
    request: RequestOfCall | None,
) -> bool:
    """Record a result and write its outbox event; if the call has a result already, only count the repeat and return False.

    `event` are the members of the outbox event besides the call's id, state and number of runs. `request` is the request of the
    call, if there is one: the result's words are indexed for it, and open pages show the result.
    """
    if request is not None:
        pointer = request.amount_pointer
        secrets = request.secrets
    else:
        settings = (
            settings_of_tools({subject.tool_name}).get(subject.tool_name)
            or ToolSettings()
        )
        pointer = amount_pointer(result.input, settings.key_fields)
        secrets = settings.secret_fields
    recorded = result.data | ({"secrets": secrets} if secrets else {})
    subject = replace(subject, amount=amount_at(result.input, pointer))
    heard = audit.record_new(
        "tool.result", subject, data=recorded, actor=actor, via=via
    )
    if heard is None:
        return False
    data = {
        **event,
        "tool_call_id": subject.tool_call_id,
        "state": result.state,
        "executions": result.executions,
    }
    outbox.enqueue(
        "tool.result",
        stream=outbox.stream_of(subject.scope, subject.run_id),
        data=data,
        heard=heard,
    )
    if request is not None:
        index_result(request, result.output, result.error_text)
    if request is not None and result.executions:
        notify_of(request.workflow_id, request.people, request_id=str(request.pk))
    return True


def record_denied_call(
    subject: audit.Subject,
    tool_input: JsonMapping,
    pattern: str,
    *,
    by: Actor,
    via: Door,
) -> None:
    """Record a call denied by the lists of a key. A repeat only counts as a retry."""
    call_input = dict(tool_input)
    data = {"input": call_input, "input_digest": digest(call_input), "pattern": pattern}
    with transaction.atomic():
        audit.record_once(DENIED, subject, data=data, actor=by, via=via)
