"""Resume runs over REST: claim, renew, release and complete the resume lease of a request."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from pydantic import BaseModel, Field, StrictInt

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.api.bodies import WHOLE, Document, Moment, mark_replayed, shown_with
from approvals.api.outcomes import ReadRequest, ReportDocument, report
from approvals.api.rest.documents import RequestDocument, document
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.api.rest.requests import IdempotencyKey
from approvals.models.resuming import MAX_WORKER, Resumption
from approvals.states import Door

router = Router(tags=["Resuming"])

#: Default and maximum lifetime of a lease, in seconds.
LEASE = 60
MAX_LEASE = 3600
MAX_REASON = 2000

Token = Annotated[
    str, Field(min_length=1, max_length=200, description="The `token` of the lease.")
]
Seconds = Annotated[
    StrictInt,
    Field(
        ge=1,
        le=MAX_LEASE,
        description="The duration of the lease, unless you renew it.",
    ),
    WHOLE,
]
EXAMPLE = "ppr_..."


class NewTake(Document):
    model_config = shown_with({"by": "worker-3", "lease_seconds": LEASE})

    by: Annotated[str, Field(max_length=MAX_WORKER)] = ""
    """The name of your process, shown to people and to other processes that try to claim the lease."""
    lease_seconds: Seconds = LEASE


class NewRenewal(Document):
    model_config = shown_with({"token": EXAMPLE, "lease_seconds": LEASE})

    token: Token
    lease_seconds: Seconds = LEASE


class NewReturn(Document):
    model_config = shown_with(
        {"token": EXAMPLE, "reason": "The model was unavailable."}
    )

    token: Token
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    """The reason, for the audit log."""


class NewCompletion(Document):
    model_config = shown_with({"token": EXAMPLE})

    token: Token


class ResumeDocument(BaseModel):
    """The state of the resume lease of a request."""

    request_id: str
    by: str | None = Field(description="The current or last holder.")
    attempt: int = Field(description="How many times it was claimed.")
    taken_at: Moment | None
    leased_until: Moment | None = Field(description="Null if no one holds it.")
    lost_by: str | None = Field(
        description="The last holder whose lease expired without completion; its process may have run something."
    )
    lost_at: Moment | None
    completed_at: Moment | None


class TakenDocument(ResumeDocument):
    token: str = Field(description="Shown once; you need it for the other calls.")
    state: str | None = Field(
        description="The `resume_state` of the request; null if it has none."
    )
    result: ReportDocument | None = Field(
        description="The result already reported for the call by an earlier attempt."
    )
    request: RequestDocument


@router.post(
    "/requests/{uuid:request_id}/resume",
    response=TakenDocument,
    summary="Claim the resume lease of a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("ask")
def take_resume(
    caller: Caller,
    request_id: UUID,
    sent: Annotated[NewTake, JsonBody(...)],
    response: HttpResponse,
    idempotency_key: IdempotencyKey = None,
) -> TakenDocument:
    """Needs the scope `ask`, and the user whose key made the request. Only one caller holds the lease at a time, for
    `lease_seconds`. 409 `not_decided` while the request waits, `resume_taken` with `resume` and `Retry-After` while someone
    holds it, and `already_resumed` after a completion. An `attempt` above 1 means that someone held it before.
    Repeating an `Idempotency-Key` returns the same token while that holds the lease.
    """
    lease = timedelta(seconds=sent.lease_seconds)
    taken = actions.take_resume(
        request_id,
        by=caller.actor,
        via=Door.REST,
        worker=sent.by,
        lease=lease,
        idempotency_key=idempotency_key,
    )
    mark_replayed(response, taken.replayed)
    request = ReadRequest(queries.get_request_for(caller.standing, request_id))
    progress = _progress(taken.resumption).model_dump()
    return TakenDocument(
        **progress,
        token=taken.token,
        state=taken.state,
        result=report(request),
        request=document(request),
    )


@router.post(
    "/requests/{uuid:request_id}/resume/renew",
    response=ResumeDocument,
    summary="Renew a resume lease",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("ask")
def renew_resume(
    caller: Caller, request_id: UUID, sent: Annotated[NewRenewal, JsonBody(...)]
) -> ResumeDocument:
    """Needs the scope `ask`. The lease then ends `lease_seconds` from now. 409 `resume_lost` if it has already expired."""
    lease = timedelta(seconds=sent.lease_seconds)
    return _progress(
        actions.renew_resume(request_id, sent.token, by=caller.actor, lease=lease)
    )


@router.post(
    "/requests/{uuid:request_id}/resume/release",
    response=ResumeDocument,
    summary="Release a resume lease",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("ask")
def release_resume(
    caller: Caller, request_id: UUID, sent: Annotated[NewReturn, JsonBody(...)]
) -> ResumeDocument:
    """Needs the scope `ask`. Others can claim it at once. 409 `resume_lost` if the token no longer holds it."""
    resumption = actions.release_resume(
        request_id, sent.token, by=caller.actor, via=Door.REST, reason=sent.reason
    )
    return _progress(resumption)


@router.post(
    "/requests/{uuid:request_id}/resume/complete",
    response=ResumeDocument,
    summary="Complete a resume lease",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("ask")
def complete_resume(
    caller: Caller,
    request_id: UUID,
    sent: Annotated[NewCompletion, JsonBody(...)],
    response: HttpResponse,
) -> ResumeDocument:
    """Needs the scope `ask`. No one can claim it again, and the stored state is erased. Repeating it with the same token
    changes nothing. An expired lease is accepted if no one else has claimed it since; otherwise 409 `resume_lost`.
    """
    completed, new = actions.complete_resume(
        request_id, sent.token, by=caller.actor, via=Door.REST
    )
    mark_replayed(response, not new)
    return _progress(completed)


def _progress(resumption: Resumption) -> ResumeDocument:
    return ResumeDocument(
        request_id=str(resumption.request_id),
        by=resumption.holder or None,
        attempt=resumption.attempt,
        taken_at=resumption.taken_at,
        leased_until=resumption.leased_until,
        lost_by=resumption.lost_by or None,
        lost_at=resumption.lost_at,
        completed_at=resumption.completed_at,
    )
