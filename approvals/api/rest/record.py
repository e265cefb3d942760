"""The audit log over REST, streamed in the order of events."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import Query, Router
from pydantic import Field

from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.api.bodies import Document, Moment, Name, Short
from approvals.api.rest.operations import operation, problems
from approvals.api.rest.people_documents import ActorName
from approvals.exceptions import NotAllowed
from approvals.live.streaming import streamed_response
from approvals.models import AuditEntry
from approvals.queries.audit import of_tool
from approvals.record import export

router = Router(tags=["Audit"])

LINES = {"schema": {"type": "string"}}


class Entries(Document):
    """Filters of entries. `after` is the id of the last entry that the client has."""

    format: Literal["jsonl", "ocsf", "csv"] = "jsonl"
    """One JSON document a line, one event of OCSF a line, or CSV."""
    event: Short | None = None
    """Only entries with this event, such as `request.decided`."""
    scope: Name | None = None
    """Only entries of this client's scope."""
    workflow: Name | None = None
    """Only entries of the workflow with this id."""
    request: UUID | None = None
    """Only entries of this request."""
    thread: Name | None = None
    """Only entries of this conversation."""
    tool: Short | None = None
    """Only entries of this tool."""
    tool_call_id: Name | None = None
    """Only entries of this tool call."""
    person: ActorName | None = Field(
        None, description="The recorded name: `bob`, or `API key billing of bob`."
    )
    at_from: Moment | None = None
    """Recorded at this moment or later."""
    at_until: Moment | None = None
    """Recorded at this moment or earlier."""
    after: int | None = Field(None, ge=0, le=2**53)
    """The id of the last entry that you have."""


@router.get(
    "/audit",
    summary="Read the audit log",
    openapi_extra=problems(ok={"application/x-ndjson": LINES, "text/csv": LINES}),
)
@operation("audit", query=Entries)
def list_entries(
    caller: Caller, request: HttpRequest, wanted: Annotated[Entries, Query(...)]
) -> HttpResponse:
    """Needs the scope `audit`, and a user who may view audit entries. Returns one JSON object or OCSF event per line, or CSV.

    To continue, pass the `id` (in OCSF: `metadata.sequence`) of the last line as `after`.
    """
    if not permissions.reads_record(caller.standing):
        raise NotAllowed(_("You do not have permission to view the audit log."))
    lookups = {
        "event": wanted.event,
        "scope": wanted.scope,
        "run_id": wanted.workflow,
        "request_id": wanted.request,
        "thread_id": wanted.thread,
        "tool_call_id": wanted.tool_call_id,
        "actor_name": wanted.person,
        "at__gte": wanted.at_from,
        "at__lte": wanted.at_until,
        "pk__gt": wanted.after,
    }
    entries = AuditEntry.objects.filter(
        **{name: value for name, value in lookups.items() if value is not None}
    )
    if wanted.tool is not None:
        entries = entries.filter(of_tool(wanted.tool))
    lines = (
        line.encode() async for line in export.lines(entries, wanted.format) if line
    )
    return streamed_response(
        request, lines, content_type=export.TYPES[wanted.format], headers={}
    )
