"""Grants over REST: list, read and revoke."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from ninja import Query, Router
from pydantic import BaseModel, Field

from approvals.access.callers import Caller
from approvals.actions import policy
from approvals.actions.policy.grants.events import WIDTHS
from approvals.api.bodies import (
    Document,
    Moment,
    Short,
    shown_with,
)
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.api.rest.paging import Limit, PageCursor, place_after
from approvals.db.cursors import take_page
from approvals.models import Grant
from approvals.policy.grants import MAX_REASON
from approvals.queries.policy.grants.ledger import GrantCursor, find_grant, grants_for
from approvals.queries.policy.grants.unusable import why_unusable
from approvals.states import Audience, Door, GrantEnd, Width
from approvals.text.secrets import mask_text

router = Router(tags=["Grants"])


class GrantDocument(BaseModel):
    """A grant, which a person gave with an approval: matching calls run without asking."""

    id: str
    request_id: str = Field(description="The request that it was given with.")
    given_by: str = Field(description="A user, or `API key NAME of USER`.")
    given_at: Moment
    reason: str
    tool_name: str
    covers: Literal["input", "fields", "tool"] = Field(
        description="The exact input of that request, the same key fields, or any input of the tool."
    )
    fields: list[str] | None = Field(
        description="The JSON pointers of the key fields, if it covers those; else null."
    )
    audience: Audience = Field(
        description="Whose calls it covers; always only calls of the requester."
    )
    agent: str
    scope: str
    workflow_id: str
    thread_id: str
    until: Moment | None
    uses: int | None
    used: int
    last_used_at: Moment | None
    ended_at: Moment | None = Field(description="Null while it is in force.")
    ended_by: str | None = Field(
        description="Who revoked it; null if it ended by itself."
    )
    ended_why: GrantEnd | None
    unusable: str | None = Field(
        description="Why it would not approve a call like the original one now, in words; null if it would, or if it has ended."
    )


class GrantPage(BaseModel):
    """Grants, the newest first; `next` is the cursor of the next page."""

    items: list[GrantDocument]
    next: str | None


class Wanted(Document):
    state: Literal["live", "ended", "all"] = "live"
    """Grants in force, ended grants, or both."""
    tool: Short | None = None
    """Only for this tool."""
    agent: Short | None = None
    """Only for calls of this agent."""
    cursor: PageCursor = None
    limit: Limit = 50


class NewRevocation(Document):
    """The end of a grant."""

    model_config = shown_with({"reason": "The campaign is over."})

    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    """The reason, for the record."""


@router.get(
    "/grants", response=GrantPage, summary="List grants", openapi_extra=problems()
)
@operation("read", query=Wanted)
def list_grants(caller: Caller, wanted: Annotated[Wanted, Query(...)]) -> GrantPage:
    """Needs the scope `read`. Returns the grants that the key's user may see: all of them for users who see every request."""
    after = place_after(wanted.cursor, GrantCursor.parse)
    matching = grants_for(
        caller.standing, tool=wanted.tool or "", agent=wanted.agent or ""
    )
    if wanted.state != "all":
        matching = matching.filter(ended_at__isnull=wanted.state == "live")
    if after is not None:
        matching = matching.filter(after.older)
    shown, more = take_page(matching, wanted.limit)
    last = GrantCursor(shown[-1].given_at, shown[-1].pk) if more else None
    unusable = why_unusable(shown)
    return GrantPage(
        items=[_document(grant, unusable) for grant in shown],
        next=str(last) if last else None,
    )


@router.get(
    "/grants/{uuid:grant_id}",
    response=GrantDocument,
    summary="Get a grant",
    openapi_extra=problems(404),
)
@operation("read")
def get_grant(caller: Caller, grant_id: UUID) -> GrantDocument:
    """Needs the scope `read`."""
    grant = find_grant(caller.standing, grant_id)
    return _document(grant, why_unusable([grant]))


@router.post(
    "/grants/{uuid:grant_id}/revoke",
    response=GrantDocument,
    summary="Revoke a grant",
    openapi_extra=problems(400, 404, 413, 415),
)
@operation("grant")
def revoke_grant(
    caller: Caller, grant_id: UUID, sent: Annotated[NewRevocation, JsonBody(...)]
) -> GrantDocument:
    """Needs the scope `grant`, and a user who may decide or administer, gave it, or whose calls it is for. From then on it
    approves nothing. A grant that has ended stays as it is.
    """
    return _document(
        policy.revoke_grant(
            grant_id, reason=sent.reason, by=caller.actor, via=Door.REST
        ),
        {},
    )


def _document(grant: Grant, unusable: Mapping[UUID, str]) -> GrantDocument:
    return GrantDocument(
        id=str(grant.pk),
        request_id=str(grant.request_id),
        given_by=grant.given_by_name,
        given_at=grant.given_at,
        reason=mask_text(grant.reason),
        tool_name=grant.tool_name,
        covers=WIDTHS[Width(grant.width)],
        fields=grant.fields,
        audience=Audience(grant.audience),
        agent=grant.agent,
        scope=grant.scope,
        workflow_id=grant.workflow_key,
        thread_id=grant.thread_id,
        until=grant.until,
        uses=grant.uses,
        used=grant.used,
        last_used_at=grant.last_used_at,
        ended_at=grant.ended_at,
        ended_by=grant.ended_by_name or None,
        ended_why=GrantEnd(grant.ended_why) if grant.ended_why else None,
        unusable=unusable.get(grant.pk),
    )
