"""A request and its decision as pages and pushes show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.asking.secrets import (
    ShownContent,
    masked_column,
    shown_content,
)
from approvals.models import ApprovalRequest, Decision, Grant
from approvals.states import Door, Kind, Priority
from approvals.text.secrets import mask_text


@dataclass(frozen=True, kw_only=True)
class ShownRequest(ShownContent):
    """The values of a request without its secrets; the input is the one that is decided now, as `proposed_by` wants it.

    `said_before` is empty where the conversation was not read.
    """

    address: str
    workflow_id: int
    kind_label: str
    status: str
    pending: bool
    halted: bool
    priority: str
    priority_label: str
    created_at: datetime
    changed_at: datetime
    deadline_at: datetime | None
    on_behalf_of: str
    taken_by: str | None
    taken_at: datetime | None
    decided_display: str | None
    proposed_by: str
    control: str | None
    terms: Mapping[str, Any] | None
    policy_version: int | None
    rule: str | None
    other_rules: Sequence[str] | None
    repeats: UUID | None
    said_before: Sequence[Mapping[str, str]]


def shown_request(request: ApprovalRequest) -> ShownRequest:
    proposed = request.proposal if request.pending else None
    return ShownRequest(
        **vars(shown_content(request)),
        address=request.get_absolute_url(),
        workflow_id=request.workflow_id,
        kind_label=str(Kind(request.kind).label),
        status=request.status,
        pending=request.pending,
        halted=request.halted,
        priority=request.priority,
        priority_label=str(Priority(request.priority).label),
        created_at=request.created_at,
        changed_at=request.changed_at,
        deadline_at=request.deadline_at,
        on_behalf_of=request.on_behalf_of,
        taken_by=request.taken_by,
        taken_at=request.taken_at,
        decided_display=request.decided_display,
        proposed_by=proposed["by"] if proposed else "",
        control=request.control,
        terms=request.terms,
        policy_version=request.policy_version,
        rule=request.rule,
        other_rules=request.other_rules,
        repeats=request.repeats,
        # Lists do not read it.
        said_before=masked_column(request, "said_before")
        if "said_before" in request.__dict__
        else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownHeading:
    """What a line that leads to a request shows of it."""

    pk: UUID
    kind: str
    kind_label: str
    status: str
    title: str
    tool_name: str
    address: str
    changed_at: datetime


def shown_heading(request: ApprovalRequest) -> ShownHeading:
    return ShownHeading(
        pk=request.pk,
        kind=request.kind,
        kind_label=str(Kind(request.kind).label),
        status=request.status,
        title=mask_text(request.title),
        tool_name=request.tool_name,
        address=request.get_absolute_url(),
        changed_at=request.changed_at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDecision:
    """The values of a decision without its secrets. `edited_input` and `answer` are None where they were not read."""

    verdict: str
    by_name: str
    for_name: str | None
    via: str
    comment: str
    decided_at: datetime
    edited_input: Any
    answer: Any
    approved_digest: str
    break_glass: bool
    grant: Grant | None
    grant_use: int | None
    #: Whether a rule of the policy decided it, and how it arrived, in words.
    by_rule: bool
    door: str


def shown_decision(
    request: ApprovalRequest, decision: Decision, *, grant: Grant | None = None
) -> ShownDecision:
    """Return the decision of a request as it is shown, with the grant that has made it."""
    edited, answer = (
        masked_column(request, name, decision) if name in decision.__dict__ else None
        for name in ("edited_input", "answer")
    )
    return ShownDecision(
        verdict=decision.verdict,
        by_name=decision.by_name,
        for_name=decision.for_name,
        via=decision.via,
        comment=masked_column(request, "comment", decision),
        decided_at=decision.decided_at,
        edited_input=edited,
        answer=answer,
        approved_digest=decision.approved_digest,
        break_glass=bool(decision.break_glass),
        grant=grant,
        grant_use=decision.grant_use,
        by_rule=decision.via == Door.RULE,
        door=str(Door(decision.via).label)
        if decision.via in Door.values
        else decision.via,
    )
