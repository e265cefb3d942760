"""Results of approved calls, read from the audit record: what ran, when, and whether it was exactly what was approved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from approvals.models import ApprovalRequest, AuditEntry
from approvals.record import audit
from approvals.runtime.canonical import canonical
from approvals.runtime.file_references import FileReference, references_in
from approvals.runtime.json_tables import Row, has_more_than_rows, rows
from approvals.runtime.text import visible_json
from approvals.states import Kind, Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The context of `approvals/request/_result.html`; without `at`, no result was reported yet.

    `exact` says whether the input that ran is the one that was approved; None if nothing ran or if it is not known.
    """

    at: datetime | None = None
    state: str = ""
    by: str = ""
    exact: bool | None = None
    executions: int = 0
    output: Any = None
    error: str = ""

    @property
    def ran(self) -> bool:
        return self.executions > 0

    @property
    def words(self) -> str:
        known = {"succeeded": _("Succeeded"), "failed": _("Failed"), "cancelled": _("Cancelled"), "denied": _("Denied")}
        return known.get(self.state, self.state)

    @property
    def output_rows(self) -> list[Row]:
        return rows(self.output, "result") if self.state == "succeeded" else []

    @property
    def files(self) -> list[FileReference]:
        """The files that the output refers to."""
        return references_in(self.output) if self.state == "succeeded" else []

    @property
    def output_json(self) -> str:
        """The whole output if the table does not show all of it; else empty."""
        whole = self.state == "succeeded" and has_more_than_rows(self.output)
        return visible_json(canonical(self.output).decode()) if whole else ""


def results_of(requests: Iterable[ApprovalRequest], among: Iterable[AuditEntry] | None = None) -> Mapping[UUID, Result]:
    """Return the results of the requests that allowed a call to run, in one read. For `among`, see `audit.results_of`."""
    approved = {request.pk: request for request in requests if _allows_run(request)}
    if not approved:
        return {}
    entries = audit.results_of(approved.values(), among)
    return {pk: _result(request, entries.get(pk)) for pk, request in approved.items()}


def _allows_run(request: ApprovalRequest) -> bool:
    if request.kind == Kind.RECOVERY:
        return request.status in {Status.APPROVED, Status.ANSWERED, Status.REJECTED}
    return request.kind == Kind.APPROVAL and request.status == Status.APPROVED


def _result(request: ApprovalRequest, entry: AuditEntry | None) -> Result:
    if entry is None:
        return Result()
    data = entry.data
    approved = request.decision.approved_digest if request.decision.verdict in {Verdict.APPROVE, Verdict.EDIT} else ""
    ran = data["executed_digest"] if data["executions"] else ""
    return Result(
        at=entry.at,
        state=data["state"],
        by=entry.actor_name,
        exact=ran == approved if ran and approved else None,
        executions=data["executions"],
        output=data["output"],
        error=data["error_text"],
    )
