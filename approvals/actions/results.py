"""Record what a tool call did, once per call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from approvals.actions.indexing import index_result
from approvals.actions.publishing import notify
from approvals.models import ApprovalRequest
from approvals.models.actors import Signatory
from approvals.outbound import outbox
from approvals.record import audit


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The data of a `tool.result` audit entry.

    `input` is what was approved to run, or what was asked for where nothing needed approval; `input_digest` is its
    digest, and `executed_digest` that of the input that ran, empty if none did. `executions` counts the runs.
    """

    state: str
    input: Any
    input_digest: str
    executed_digest: str
    output: Any
    error_text: str
    executions: int

    @property
    def data(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def record_tool_result(
    result: ToolResult,
    subject: audit.Subject,
    *,
    event: Mapping[str, Any],
    actor: Signatory | None,
    via: str,
    request: ApprovalRequest | None,
) -> bool:
    """Put a result on record and into the outbox; False, and only counted, if the call has one already.

    `event` is what the outbox event holds beside the call's id, its state and its number of runs. `request` is the request
    of the call, if there is one: it is found by the words of the result, and open pages show the result.
    """
    if not audit.record_once("tool.result", subject, data=result.data, actor=actor, via=via):
        return False
    data = {**event, "tool_call_id": subject.tool_call_id, "state": result.state, "executions": result.executions}
    outbox.enqueue("tool.result", stream=outbox.stream_of(subject.scope, subject.run_id), data=data)
    if request is not None:
        index_result(request, result.output, result.error_text)
    if request is not None and result.executions:
        notify(request.workflow, request.requested_by_id, request.assigned_to_id, request_id=str(request.pk))
    return True
