"""Approver scopes over REST."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from ninja import Query, Router
from pydantic import BaseModel, Field

from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.api.bodies import Document, Moment, Name
from approvals.api.rest.operations import operation, problems
from approvals.api.rest.paging import Limit, place_after
from approvals.db.cursors import number_from, take_page
from approvals.exceptions import NotAllowed, NotFound
from approvals.models import ApproverScope
from approvals.models.policy.scopes import May
from approvals.queries.policy.scopes.matching import scopes_with_members

router = Router(tags=["Approver scopes"])


class ScopeDocument(BaseModel):
    """Lets people and the members of teams see, answer or decide the requests that it matches, as far as their roles
    allow.
    """

    id: int = Field(description="Changing what a scope matches changes its id.")
    name: str
    people: list[str] = Field(description="Usernames.")
    teams: list[str] = Field(description="Names of teams.")
    may: May = Field(description="Each value includes the previous one.")
    limit: float | None = Field(
        description="The largest amount that they may decide; null without a limit."
    )
    match: dict[str, Any] = Field(
        description="The requests that it matches: lists of `tools`, `agents`, `servers`, `kinds`, `priorities`, "
        "`sources` and `requesters` (numbers of users), and tests of the `input`. A list that is left out "
        "matches anything; `{}` matches every request."
    )
    created_at: Moment


class ScopePage(BaseModel):
    """Approver scopes, the oldest first; `next` is the cursor of the next page."""

    items: list[ScopeDocument]
    next: str | None


class WantedScopes(Document):
    cursor: Name | None = Field(
        None,
        description="`next` of the previous page.",
        json_schema_extra={"pattern": "^[0-9]{1,18}$"},
    )
    limit: Limit = 50


@router.get(
    "/scopes",
    response=ScopePage,
    summary="List approver scopes",
    openapi_extra=problems(),
)
@operation("audit", query=WantedScopes)
def list_scopes(
    caller: Caller, wanted: Annotated[WantedScopes, Query(...)]
) -> ScopePage:
    """Needs the scope `audit`, and a user who may administer, or read the whole audit log. No scopes means that no one is
    limited.
    """
    scopes = _scopes_for(caller)
    after = place_after(wanted.cursor, number_from)
    shown, more = take_page(
        scopes.filter(pk__gt=after or 0).order_by("pk"), wanted.limit
    )
    return ScopePage(
        items=[_document(scope) for scope in shown],
        next=str(shown[-1].pk) if more else None,
    )


@router.get(
    "/scopes/{int:scope_id}",
    response=ScopeDocument,
    summary="Get an approver scope",
    openapi_extra=problems(404),
)
@operation("audit")
def get_scope(caller: Caller, scope_id: int) -> ScopeDocument:
    """Needs the scope `audit`, and a user who may administer, or read the whole audit log."""
    # A number that is no possible id is not looked up.
    known = number_from(str(scope_id)) is not None
    scope = _scopes_for(caller).filter(pk=scope_id).first() if known else None
    if scope is None:
        raise NotFound(_("Scope not found. Someone may have deleted it."))
    return _document(scope)


def _scopes_for(caller: Caller) -> QuerySet[ApproverScope]:
    if not permissions.reads_scopes(caller.standing):
        raise NotAllowed(_("You do not have permission to view approver scopes."))
    return scopes_with_members()


def _document(scope: ApproverScope) -> ScopeDocument:
    return ScopeDocument(
        id=scope.pk,
        name=scope.name,
        people=[person.get_username() for person in scope.people.all()],
        teams=[team.name for team in scope.teams.all()],
        may=May(scope.may),
        limit=scope.limit,
        match=scope.match,
        created_at=scope.created_at,
    )
