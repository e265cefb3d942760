"""What is known of a request for a grant that is given with it."""

from __future__ import annotations

from datetime import datetime

from django.db.models.functions import Now

from approvals.access.keys import KEY_SCOPE
from approvals.models import ApprovalRequest, ToolSettings, Workflow
from approvals.policy.grants import Case, Limits
from approvals.queries.preferences import settings_of_tools
from approvals.states import CLIENT, PROGRAMS, Width


def case_of(request: ApprovalRequest, workflow: Workflow) -> Case:
    """Return what the rules of grants have to know of a request."""
    settings = settings_of_tools([request.tool_name]).get(request.tool_name) or ToolSettings()
    # A workflow of one request ends with it: that of an MCP client, and one that no client has named.
    lasting = workflow.source not in PROGRAMS or (workflow.source == CLIENT and workflow.key != str(request.pk))
    return Case(
        kind=request.kind,
        priority=request.priority,
        tool=request.tool_name,
        input=request.input,
        key_fields=settings.key_fields,
        has_files=bool(request.attachments),
        agent=request.agent,
        by_key=request.scope.startswith(KEY_SCOPE),
        lasting=lasting,
        thread=workflow.thread_id,
        limits=limits_of(settings),
    )


def limits_of(settings: ToolSettings) -> Limits:
    """Return the limits of grants that the settings of a tool choose."""
    return Limits(
        seconds=settings.grant_seconds,
        uses=settings.grant_uses,
        width=None if settings.grant_width is None else Width(settings.grant_width),
        never=settings.no_grants,
    )


def database_time(request: ApprovalRequest) -> datetime:
    """Return the time of the database, by which grants end."""
    now: datetime = ApprovalRequest.objects.filter(pk=request.pk).values_list(Now(), flat=True).get()
    return now
