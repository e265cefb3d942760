"""The bodies and documents about people at a request: who is on it, to whom it is assigned, what they say."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from approvals.api.rest.fields import Document, Moment
from approvals.models.comments import MAX_TEXT
from approvals.models.keys import MAX_ACTOR_NAME

UserName = Annotated[str, Field(min_length=1, max_length=150)]
#: A user's name, or `API key NAME of USER`.
ActorName = Annotated[str, Field(min_length=1, max_length=MAX_ACTOR_NAME)]


class NewClaim(Document):
    """Take it. `over` names whom it is taken over from (`claimed_by`), where somebody is on it."""

    over: ActorName | None = None


class NewRelease(Document):
    """Give back what one has taken; nothing more is to be said."""


class NewAssignee(Document):
    """Hand it to somebody, or back to all. One who was faster is not overruled: name who has it now."""

    to: UserName | None = Field(description="The name of an active user; null for nobody.")
    instead_of: UserName | None = Field(None, description="`assigned_to` as it is now, where it is assigned.")


class NewComment(Document):
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT, description="Markdown.")]


class HandlingDocument(BaseModel):
    """Who is at a request. What it asks is left out: one who hands it over may not see it any more."""

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
    """What was said, the newest first; `next` is the `before` of the page after this one."""

    items: list[CommentDocument]
    next: int | None
