"""Programs' advice on pending requests over REST."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Router
from ninja.responses import Status as Reply
from pydantic import Field

from approvals.access.callers import Caller
from approvals.actions import attention
from approvals.api.bodies import Document, mark_replayed, shown_with
from approvals.api.rest.documents import AdviceDocument, advice_document
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.models.attention import MAX_MORE_VOTES, MAX_TEXT
from approvals.states import Door, Hint, Priority

router = Router(tags=["Advice"])


class NewAdvice(Document):
    model_config = shown_with(
        {
            "hint": "look_closer",
            "text": "The IBAN differs from that of the last 12 payments.",
        }
    )

    hint: Hint
    """Your advice."""
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
    """The reason, as plain text."""
    raise_priority: Priority | None = None
    """The priority that the request gets if its own is lower."""
    more_votes: Annotated[int, Field(strict=True, ge=1, le=MAX_MORE_VOTES)] | None = (
        None
    )
    """How many more people have to approve. Only for approvals, once per user, and five for all advice on a request."""


@router.post(
    "/requests/{uuid:request_id}/advice",
    response={201: AdviceDocument, 200: AdviceDocument},
    summary="Advise on a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("advise")
def create_advice(
    caller: Caller,
    request_id: UUID,
    sent: Annotated[NewAdvice, JsonBody(...)],
    response: HttpResponse,
) -> Reply[AdviceDocument]:
    """Needs the scope `advise`, a user who may see the request, and a different key from the one that made the request. People
    see advice folded, below the input. It never approves, rejects or lowers the priority. Advice cannot be changed; the same
    advice from the same key is stored once, and then returned with 200 and `Idempotent-Replayed`. 409 `conflict` if the request
    has ten pieces of advice, or cannot need so many votes: there must be enough people who may approve it.
    """
    outcome = attention.advise(
        request_id,
        attention.Recommendation(**dict(sent)),
        by=caller.actor,
        via=Door.REST,
    )
    mark_replayed(response, outcome.replayed)
    return Reply(200 if outcome.replayed else 201, advice_document(outcome.advice))
