"""What recording the result of a call needs of its request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from approvals.models import ApprovalRequest, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOfCall:
    """A request that has ended, so that none of this changes any more. `people` are those whose pages show it."""

    pk: UUID
    input: Any
    input_digest: str
    amount_pointer: str | None
    secrets: Sequence[str] | None
    workflow_id: int
    people: Sequence[int | None]

    @classmethod
    def of(cls, request: ApprovalRequest, workflow: Workflow) -> Self:
        return cls(
            pk=request.pk,
            input=request.input,
            input_digest=request.input_digest,
            amount_pointer=request.amount_pointer,
            secrets=request.secrets,
            workflow_id=workflow.pk,
            people=(workflow.owner_id, request.requested_by_id, request.assigned_to_id),
        )
