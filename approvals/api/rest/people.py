"""Who is at a request, over REST: take it, give it back, hand it over, talk about it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from ninja.responses import Status as Answer
from pydantic import Field

from approvals import actions, queries
from approvals.access.callers import caller_of
from approvals.api.rest.callers import client_of, problems
from approvals.api.rest.fields import Document, JsonBody, only_known
from approvals.api.rest.people_documents import (
    CommentDocument,
    Comments,
    HandlingDocument,
    NewAssignee,
    NewClaim,
    NewComment,
    NewRelease,
)
from approvals.api.rest.shapes import comment_document, handling
from approvals.queries import comments
from approvals.states import Door

router = Router(tags=["People"])

MAX_PAGE = 200


class Said(Document):
    before: int | None = Field(None, ge=1, le=2**53, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=MAX_PAGE)


@router.post(
    "/requests/{uuid:request_id}/claim",
    response=HandlingDocument,
    summary="Take a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
def claim_request(request: HttpRequest, request_id: UUID, sent: Annotated[NewClaim, JsonBody(...)]) -> HandlingDocument:
    """Needs the scope `decide`, and a user who may. A courtesy to other people: it lapses after 15 minutes without an
    action, and anybody who may decide can still do so. 409 `taken` says who was faster.
    """
    caller = client_of(request, "decide")
    only_known(request, set())
    return handling(actions.claim(request_id, by=caller.actor, via=Door.REST, over=sent.over or ""))


@router.post(
    "/requests/{uuid:request_id}/release",
    response=HandlingDocument,
    summary="Give a request back",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
def release_request(
    request: HttpRequest, request_id: UUID, sent: Annotated[NewRelease, JsonBody(...)]
) -> HandlingDocument:
    """Needs the scope `decide`. Where nobody has taken it (any more), nothing changes."""
    caller = client_of(request, "decide")
    only_known(request, set())
    return handling(actions.release(request_id, by=caller.actor, via=Door.REST))


@router.post(
    "/requests/{uuid:request_id}/assign",
    response=HandlingDocument,
    summary="Hand a request over",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
def assign_request(
    request: HttpRequest, request_id: UUID, sent: Annotated[NewAssignee, JsonBody(...)]
) -> HandlingDocument:
    """Needs the scope `decide`, and a user who may. The person is told, and may see it from then on, and answer it where it is
    a question or a form; an approval goes to a user who may decide it. 409 `taken` where it is assigned to somebody else
    than `instead_of` says.
    """
    caller = client_of(request, "decide")
    only_known(request, set())
    to = None if sent.to is None else queries.user_named(sent.to)
    seen = sent.instead_of or ""
    return handling(actions.assign(request_id, by=caller.actor, via=Door.REST, to=to, instead_of=seen))


@router.get(
    "/requests/{uuid:request_id}/comments",
    response=Comments,
    summary="Read the thread of a request",
    openapi_extra=problems(404),
)
def list_comments(request: HttpRequest, request_id: UUID, query: Annotated[Said, Query(...)]) -> Comments:
    """Needs the scope `read`. The newest first."""
    caller = client_of(request, "read")
    only_known(request, set(Said.model_fields))
    about = queries.get_request_for(caller.user, request_id)
    found = list(comments.comments_of(about, before=query.before)[: query.limit + 1])
    shown, more = found[: query.limit], len(found) > query.limit
    return Comments(items=[comment_document(said) for said in shown], next=shown[-1].pk if more else None)


@router.post(
    "/requests/{uuid:request_id}/comments",
    response={201: CommentDocument},
    summary="Comment on a request",
    openapi_extra=problems(400, 404, 413, 415),
)
def create_comment(
    request: HttpRequest, request_id: UUID, sent: Annotated[NewComment, JsonBody(...)]
) -> Answer[CommentDocument]:
    """Needs the scope `decide`, or `ask` for the owner's agent. It cannot be taken back. Agents are not told of it."""
    caller = client_of(request, "decide" if "decide" in caller_of(request).scopes else "ask")
    only_known(request, set())
    return Answer(201, comment_document(actions.comment(request_id, by=caller.actor, via=Door.REST, text=sent.text)))
