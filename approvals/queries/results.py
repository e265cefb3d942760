"""Results of approved calls, read from the audit log: the executed input, the time, and whether the input was the approved one.

Also the resume leases of runs behind requests, which come before a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.access.permissions import is_from_outside
from approvals.access.standing import Standing
from approvals.asking.secrets import OUTPUT, masked_input
from approvals.db.canonical_json import canonical
from approvals.models import ApprovalRequest, AuditEntry, Decision, Resumption
from approvals.queries.insights.values import duration
from approvals.queries.requests import requests_for
from approvals.record import audit
from approvals.record.events import RESULTS
from approvals.states import APPROVING, Kind, Status, Verdict
from approvals.text.file_references import FileReference, references_in
from approvals.text.tables import TableRow, leave_out, pretty, rows
from approvals.text.text import visible_json

#: A result not reported this long after the approval counts as missing, and is marked in red.
EXPECTED_WITHIN = timedelta(minutes=10)
STATE_LABELS = {
    "succeeded": _("Succeeded"),
    "failed": _("Failed"),
    "cancelled": _("Cancelled"),
    "denied": _("Denied"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """A report that the call ran with a different input than the approved one; `times` says how often it was sent."""

    at: datetime
    by: str
    ran_digest: str
    state: str
    times: int
    output_json: str
    error: str

    @property
    def state_label(self) -> str:
        return str(STATE_LABELS.get(self.state, self.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownResult:
    """The context of `approvals/request/_result.html`; without `at`, no result was reported yet.

    `exact` says whether the executed input is the approved one; None if nothing ran or if it is unknown. `approved_digest` is
    that of the approved input, with the approver's changes, and `ran_digest` that of the executed input, as reported; both are
    empty if unknown.
    """

    approved_at: datetime | None = None
    approved_digest: str = ""
    ran_digest: str = ""
    edited: bool = False
    #: Whether other requests of the workflow are pending, so that it may not have continued.
    others_wait: bool = False
    at: datetime | None = None
    state: str = ""
    by: str = ""
    exact: bool | None = None
    executions: int = 0
    output: Any = None
    error: str = ""
    #: Reports that another input ran than the approved one.
    other_runs: Sequence[OtherRun] = ()

    @property
    def ran(self) -> bool:
        return self.executions > 0

    @property
    def state_label(self) -> str:
        return str(STATE_LABELS.get(self.state, self.state))

    @property
    def missing(self) -> bool:
        """Whether a result is overdue."""
        late = (
            self.approved_at is not None
            and self.approved_at < timezone.now() - EXPECTED_WITHIN
        )
        return self.at is None and late and not self.others_wait and not self.other_runs

    @property
    def alarming(self) -> bool:
        """Whether people have to look at it: the result is overdue, or another input ran."""
        return self.missing or self.exact is False or bool(self.other_runs)

    @property
    def waited(self) -> str:
        """The time between approval and report, in words; empty if it is unknown."""
        if self.at is None or self.approved_at is None or self.at < self.approved_at:
            return ""
        return duration((self.at - self.approved_at).total_seconds())

    @property
    def output_rows(self) -> list[TableRow]:
        return rows(self.output, "result") if self.state == "succeeded" else []

    @property
    def files(self) -> list[FileReference]:
        """The files that the output refers to."""
        return references_in(self.output) if self.state == "succeeded" else []

    @property
    def output_json(self) -> str:
        """The whole output if the table does not show all of it; else empty."""
        whole = leave_out(self.output_rows)
        return visible_json(canonical(self.output).decode()) if whole else ""


def results_of(
    requests: Iterable[ApprovalRequest], among: Iterable[AuditEntry] | None = None
) -> Mapping[UUID, ShownResult]:
    """Return the results of requests that allowed a call to run, in one read. For `among`, see `audit.reports_of`."""
    approved = {request.pk: request for request in requests if _allows_run(request)}
    if not approved:
        return {}
    reports = audit.reports_of(approved.values(), among)
    return {
        pk: replace(
            _result(request, reports[pk].result),
            other_runs=tuple(
                _other_run(request, entry) for entry in reports[pk].other_inputs
            ),
        )
        for pk, request in approved.items()
    }


def _allows_run(request: ApprovalRequest) -> bool:
    if request.kind == Kind.RECOVERY:
        return request.status in {Status.APPROVED, Status.ANSWERED, Status.REJECTED}
    return request.kind == Kind.APPROVAL and request.status == Status.APPROVED


def _result(request: ApprovalRequest, entry: AuditEntry | None) -> ShownResult:
    if entry is None:
        return replace(
            result_of(request.decision), others_wait=request.workflow.open_count > 0
        )
    data = entry.data
    return replace(
        result_of(
            request.decision, data["executed_digest"] if data["executions"] else ""
        ),
        at=entry.at,
        state=data["state"],
        by=entry.actor_name,
        executions=data["executions"],
        output=masked_input(request, data["output"], OUTPUT),
        error=data["error_text"],
    )


def _other_run(request: ApprovalRequest, entry: AuditEntry) -> OtherRun:
    data = entry.data
    return OtherRun(
        at=entry.at,
        by=entry.actor_name,
        ran_digest=data["executed_digest"],
        state=data["state"],
        times=1 + entry.retry_count,
        output_json=visible_json(pretty(masked_input(request, data["output"])))
        if data["state"] == "succeeded"
        else "",
        error=data["error_text"],
    )


def result_of(decision: Decision, ran_digest: str = "") -> ShownResult:
    """Return the approved digest of a decision, compared with that of the executed input, as a Result without the rest."""
    approved = decision.approved_digest if decision.verdict in APPROVING else ""
    return ShownResult(
        approved_at=decision.decided_at,
        approved_digest=approved,
        ran_digest=ran_digest,
        edited=decision.verdict == Verdict.EDIT,
        exact=ran_digest == approved if ran_digest and approved else None,
    )


def reported_since(viewer: Standing, moment: datetime) -> QuerySet[ApprovalRequest]:
    """Return the requests whose results were reported since `moment`, which does not change the requests themselves."""
    reported = AuditEntry.objects.filter(event__in=RESULTS, at__gte=moment)
    return requests_for(viewer).filter(pk__in=reported.values("request_id"))


def resumptions_of(requests: Iterable[ApprovalRequest]) -> Mapping[UUID, Resumption]:
    """Return the resume leases of these requests, in one read; none if none can be resumed."""
    resumable = [
        request.pk
        for request in requests
        if not request.pending and is_from_outside(request)
    ]
    return (
        {row.request_id: row for row in Resumption.objects.filter(pk__in=resumable)}
        if resumable
        else {}
    )
