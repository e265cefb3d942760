"""Workflows over REST: read one with its requests, and end it."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpResponse
from ninja import Path, Query, Router
from pydantic import Field

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.api.bodies import Document, mark_replayed
from approvals.api.rest.bodies import NewEnd
from approvals.api.rest.documents import WorkflowDocument, workflow_document
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.db.cursors import take_page
from approvals.states import Door, WorkflowState

router = Router(tags=["Workflows"])

MAX_STEPS = 1000

Id = Annotated[str, Path(..., max_length=200)]


class Whose(Document):
    scope: str | None = Field(
        None,
        max_length=64,
        description="The client's scope, if you may see it; yours by default.",
    )


@router.get(
    "/workflows/{workflow_id}",
    response=WorkflowDocument,
    summary="Get a workflow",
    openapi_extra=problems(404),
)
@operation("read", query=Whose)
def get_workflow(
    caller: Caller, workflow_id: Id, query: Annotated[Whose, Query(...)]
) -> WorkflowDocument:
    """Needs the scope `read`. Returns its state, and all its requests with their place (`step_path`)."""
    return _document(caller, query.scope or caller.scope, workflow_id)


@router.post(
    "/workflows/{workflow_id}/end",
    response=WorkflowDocument,
    summary="End a workflow",
    openapi_extra=problems(400, 404, 409, 413, 415),
)
@operation("ask")
def end_workflow(
    caller: Caller,
    workflow_id: Id,
    sent: Annotated[NewEnd, JsonBody(...)],
    response: HttpResponse,
) -> WorkflowDocument:
    """Needs the scope `ask`. Waiting requests are cancelled. Repeating the outcome changes nothing, another one is refused."""
    workflow = queries.get_workflow_by_key_for(
        caller.standing, scope=caller.scope, key=workflow_id
    )
    ended = actions.close_workflow(
        workflow.pk, state=WorkflowState(sent.outcome), by=caller.actor, via=Door.REST
    )
    mark_replayed(response, not ended)
    return _document(caller, caller.scope, workflow_id)


def _document(caller: Caller, scope: str, key: str) -> WorkflowDocument:
    workflow = queries.get_workflow_by_key_for(caller.standing, scope=scope, key=key)
    steps = queries.steps_of(caller.standing, workflow).defer(*queries.UNLISTED)
    shown, more = take_page(steps, MAX_STEPS)
    waiting = queries.open_count_for(caller.standing, workflow)
    return workflow_document(workflow, shown, waiting=waiting, more=more)
