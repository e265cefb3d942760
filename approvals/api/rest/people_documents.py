"""The bodies and documents of claims, assignments and internal notes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from approvals.api.bodies import Document, Moment, shown_with
from approvals.models.comments import MAX_TEXT
from approvals.models.keys import MAX_ACTOR_NAME

UserName = Annotated[str, Field(min_length=1, max_length=150)]
#: A user's name, or `API key NAME of USER`.
ActorName = Annotated[str, Field(min_length=1, max_length=MAX_ACTOR_NAME)]


class NewClaim(Document):
    """A claim. To take over the claim of someone else, name them in `over` (`claimed_by`)."""

    model_config = shown_with({})

    over: ActorName | None = None
    """The current `claimed_by`, to take over their claim."""


class NewRelease(Document):
    """The release of a claim; it has no fields."""

    model_config = shown_with({})


class NewAssignee(Document):
    """An assignment to someone, or to no one. Name the current assignee, so that you do not overrule anyone by accident."""

    model_config = shown_with({"to": "bob"})

    to: UserName | None = Field(
        description="The name of an active user; null to unassign."
    )
    instead_of: UserName | None = Field(
        None, description="The current `assigned_to`, if the request is assigned."
    )


class NewComment(Document):
    model_config = shown_with({"text": "Asked the warehouse, they will look."})

    text: Annotated[
        str, Field(min_length=1, max_length=MAX_TEXT, description="Markdown.")
    ]


class HandlingDocument(BaseModel):
    """The people working on a request. The rest is left out, because after an assignment the caller may no longer see it."""

    request_id: str
    assigned_to: str | None
    claimed_by: str | None
    claimed_until: Moment | None


class CommentDocument(BaseModel):
    id: int
    by: str
    via: str
    text: str
    at: Moment


class Comments(BaseModel):
    """Internal notes, newest first; `next` is the `before` of the next page."""

    items: list[CommentDocument]
    next: int | None
