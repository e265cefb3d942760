"""People and requests over REST: claim, release, assign, comment."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from ninja import Query, Router
from ninja.responses import Status as Answer
from pydantic import Field

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.api.bodies import Document
from approvals.api.rest.documents import comment_document, handling
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.api.rest.paging import Limit
from approvals.api.rest.people_documents import (
    CommentDocument,
    Comments,
    HandlingDocument,
    NewAssignee,
    NewClaim,
    NewComment,
    NewRelease,
)
from approvals.db.cursors import page_before
from approvals.queries import comments
from approvals.states import Door

router = Router(tags=["People"])


class CommentFilters(Document):
    before: int | None = Field(
        None, ge=1, le=2**53, description="`next` of the previous page."
    )
    limit: Limit = 50


@router.post(
    "/requests/{uuid:request_id}/claim",
    response=HandlingDocument,
    summary="Claim a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("decide")
def claim_request(
    caller: Caller, request_id: UUID, sent: Annotated[NewClaim, JsonBody(...)]
) -> HandlingDocument:
    """Needs the scope `decide`, and a user who may decide. A claim shows other people that the user is working on the
    request. It expires after 15 minutes without an action, and everyone who may decide still can. 409 `taken` says who was first.
    """
    return handling(
        actions.claim(request_id, by=caller.actor, via=Door.REST, over=sent.over or "")
    )


@router.post(
    "/requests/{uuid:request_id}/release",
    response=HandlingDocument,
    summary="Release a claim",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("decide")
def release_request(
    caller: Caller, request_id: UUID, sent: Annotated[NewRelease, JsonBody(...)]
) -> HandlingDocument:
    """Needs the scope `decide`. If the user has no claim, nothing changes."""
    return handling(actions.release(request_id, by=caller.actor, via=Door.REST))


@router.post(
    "/requests/{uuid:request_id}/assign",
    response=HandlingDocument,
    summary="Assign a request",
    openapi_extra=problems(400, 404, 409, 410, 413, 415),
)
@operation("decide")
def assign_request(
    caller: Caller, request_id: UUID, sent: Annotated[NewAssignee, JsonBody(...)]
) -> HandlingDocument:
    """Needs the scope `decide`, and a user who may decide. The new assignee is notified, may see the request, and may answer
    it if it is a question or a form; an approval can only be assigned to a user who may decide it. 409 `taken` if the
    request is assigned to someone other than `instead_of`.
    """
    to = None if sent.to is None else queries.user_named(sent.to)
    seen = sent.instead_of or ""
    return handling(
        actions.assign(
            request_id, by=caller.actor, via=Door.REST, to=to, instead_of=seen
        )
    )


@router.get(
    "/requests/{uuid:request_id}/comments",
    response=Comments,
    summary="List internal notes",
    openapi_extra=problems(404),
)
@operation("read", query=CommentFilters)
def list_comments(
    caller: Caller, request_id: UUID, query: Annotated[CommentFilters, Query(...)]
) -> Comments:
    """Needs the scope `read`. Returns the internal notes, newest first."""
    about = queries.get_request_for(caller.standing, request_id)
    shown, following = page_before(
        comments.comments_of(about), query.before, query.limit
    )
    return Comments(
        items=[comment_document(comment) for comment in shown],
        next=following,
    )


@router.post(
    "/requests/{uuid:request_id}/comments",
    response={201: CommentDocument},
    summary="Add an internal note",
    openapi_extra=problems(400, 404, 413, 415),
)
@operation("decide", "ask")
def create_comment(
    caller: Caller, request_id: UUID, sent: Annotated[NewComment, JsonBody(...)]
) -> Answer[CommentDocument]:
    """Needs the scope `decide`, or `ask` for the owner's agent. A note cannot be deleted, and agents do not receive it."""
    return Answer(
        201,
        comment_document(
            actions.comment(request_id, by=caller.actor, via=Door.REST, text=sent.text)
        ),
    )
