"""Live updates of the Workflows page: rows change in place, and new ones wait behind a button."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from django.template.loader import render_to_string

from approvals import queries
from approvals.access.standing import Standing
from approvals.access.visibility import visibility_key
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.consumers import CATCH_UP, DeskConsumer, parse_since, render_counts
from approvals.pages.lists.workflow_rows import workflow_row
from approvals.queries.search_words import MAX_SEARCH
from approvals.queries.workflow_list import searched, with_steps


class WorkflowsConsumer(DeskConsumer):
    """The WebSocket of the Workflows page. Its query string has the search, and in `since` the time when it was rendered."""

    def groups_for(self, viewer: Standing) -> list[str]:
        sent = parse_qs(self.scope["query_string"].decode("ascii", "replace")).get(
            "q", [""]
        )[0]
        self.q = sent.replace("\x00", "")[:MAX_SEARCH].strip()
        return super().groups_for(viewer)

    def catch_up(self, viewer: Standing, shared: BatchCache) -> str:
        since = parse_since(self.scope["query_string"])
        if since is None:
            return ""
        # Two lists, each sorted by an index: changed requests, and ended workflows.
        changed = list(
            queries.changed_since(viewer, since).values_list("workflow", flat=True)[
                : CATCH_UP + 1
            ]
        )
        ended = (
            queries.ended_workflows_for(viewer)
            .filter(ended_at__gte=since)
            .values_list("pk", flat=True)
        )
        missed = {*changed, *ended[: CATCH_UP + 1]}
        if len(changed) > CATCH_UP or len(missed) > CATCH_UP:
            return render_to_string("approvals/_outdated.html")
        return _rows(viewer, shared, self.q, missed)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        await self.push(_changed, self.q, event["workflow"])

    async def request_handled(self, event: dict[str, Any]) -> None:
        """Push the workflow of a request that was assigned: its assignee sees it from now on."""
        await self.push(_handled, self.q, event["request"])

    async def absence_changed(self, event: dict[str, Any]) -> None:
        """Push the counts: the workflows are the same, but not the requests that wait for the person."""
        await self.push(render_counts)


def _changed(viewer: Standing, shared: BatchCache, q: str, workflow_pk: int) -> str:
    return _rows(viewer, shared, q, {workflow_pk})


def _handled(viewer: Standing, shared: BatchCache, q: str, request_id: str) -> str:
    workflow_ids = ApprovalRequest.objects.filter(pk=request_id).values_list(
        "workflow", flat=True
    )
    return _rows(
        viewer,
        shared,
        q,
        shared.once("workflow of the request", lambda: set(workflow_ids)),
    )


def _rows(viewer: Standing, shared: BatchCache, q: str, pks: set[int]) -> str:
    """Render the rows of these workflows, as far as the person may see them, and the counts; "" for none."""
    if not pks:
        return ""

    def read() -> list[Workflow]:
        rows = with_steps(viewer, queries.workflows_for(viewer).filter(pk__in=pks))
        return list(
            (
                searched(viewer, rows, q, latest=False, among=pks) if q else rows
            ).order_by("pk")
        )

    workflows = shared.once(("workflows", visibility_key(viewer)), read)
    if not workflows:
        return ""
    html = shared.once(
        ("workflow rows", visibility_key(viewer)),
        lambda: "".join(
            render_to_string(
                "approvals/workflows/_row.html",
                {"row": workflow_row(workflow), "oob": True},
            )
            for workflow in workflows
        ),
    )
    return html + render_counts(
        viewer, shared, {workflow.owner_id for workflow in workflows} | {viewer.pk}
    )
