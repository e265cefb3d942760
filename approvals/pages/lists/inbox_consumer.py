"""Live updates of the inbox: changed requests are updated in place, new ones wait behind a button."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any
from uuid import UUID

from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.access.visibility import visibility_key
from approvals.exceptions import Invalid, NotFound
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.pages.consumers import CATCH_UP, DeskConsumer, parse_since, render_counts
from approvals.pages.context import waiting_for_others
from approvals.pages.lists.inbox_rows import InboxRow, rows_for
from approvals.pages.pushes import absence
from approvals.pages.pushes.assignee import ASSIGNED, COMMENTED
from approvals.pages.pushes.result import render_results
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import Filters, filters_from
from approvals.queries.lists.snoozes import snoozers, snoozes_of
from approvals.queries.results import reported_since


class InboxConsumer(DeskConsumer):
    """The WebSocket of the inbox. Its query string has the page's filters, and in `since` the time when it was rendered."""

    def groups_for(self, viewer: Standing) -> list[str]:
        try:
            query = QueryDict(self.scope["query_string"], mutable=True)
            query.pop("since", None)
            self.filters = filters_from(query)
        except (Invalid, SuspiciousOperation) as refusal:
            raise NotFound(
                _("List not found. It may not exist, or you may not have access.")
            ) from refusal
        return super().groups_for(viewer)

    def catch_up(self, viewer: Standing, shared: BatchCache) -> str:
        since = parse_since(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(
            request_list.listed(queries.changed_since(viewer, since), whole=True)[
                : CATCH_UP + 1
            ]
        )
        if len(missed) > CATCH_UP:
            return render_to_string("approvals/_outdated.html")
        # The pane may show the result of a request.
        results = render_results(list(reported_since(viewer, since)[:CATCH_UP]))
        return render_push(viewer, shared, self.filters, missed) + results

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """Push a request that was created, changed or decided, or the counts if a workflow ended."""
        if event["request"]:
            await self.push(_changed, self.filters, event["request"], True)
        else:
            await self.push(render_counts)

    async def request_handled(self, event: dict[str, Any]) -> None:
        """Also push the row of an assigned request, or of one that a reply returns to people who snoozed it."""
        await super().request_handled(event)
        if event["event"] in {ASSIGNED, COMMENTED}:
            await self.push(_changed, self.filters, event["request"], False)

    async def absence_changed(self, event: dict[str, Any]) -> None:
        """Also push the rows of the requests that a person now may, or no longer may, decide."""
        await self.push(_absence_changed, self.filters, event["person"])


def _absence_changed(
    viewer: Standing, shared: BatchCache, filters: Filters, absent: int
) -> str:
    requests = absence.requests_of_absent(absent, shared, limit=CATCH_UP)
    if requests is None:
        return render_to_string("approvals/_outdated.html")
    seen = [request for request in requests if permissions.may_see(viewer, request)]
    gone = [request for request in requests if request not in seen]
    cards = [absence.render_card(viewer, request) for request in requests]
    rows = [
        render_to_string("approvals/inbox/_push_gone.html", {"pk": request.pk})
        for request in gone
    ]
    return "".join(
        [*rows, *cards, render_push(viewer, shared, filters, seen, cards=False)]
    ) + (
        _render_count(viewer, shared, filters) + render_counts(viewer, shared)
        if gone
        else ""
    )


def _changed(
    viewer: Standing, shared: BatchCache, filters: Filters, request_id: str, whole: bool
) -> str:
    def read() -> list[ApprovalRequest]:
        requests = queries.with_names(queries.requests_for(viewer)).filter(
            pk=request_id
        )
        return list(request_list.listed(requests, whole=True))

    changed = shared.once(("request", visibility_key(viewer)), read)
    if not changed and not whole:
        # It was assigned to someone else: remove its row, like its card.
        row = render_to_string("approvals/inbox/_push_gone.html", {"pk": request_id})
        return (
            row + _render_count(viewer, shared, filters) + render_counts(viewer, shared)
        )
    results = (
        shared.once(("result", visibility_key(viewer)), lambda: render_results(changed))
        if whole
        else ""
    )
    return render_push(viewer, shared, filters, changed, cards=whole) + results


def render_push(
    viewer: Standing,
    shared: BatchCache,
    filters: Filters,
    changed: list[ApprovalRequest],
    *,
    cards: bool = True,
) -> str:
    """Render these requests: their rows, their cards if the page has them open, and the counts; "" for none."""
    if not changed:
        return ""
    matching = shared.once(
        ("matching", _visibility(viewer, shared, filters)),
        lambda: _matching(viewer, filters, changed),
    )
    lines = shared.once(
        ("rows", _rights(viewer)),
        lambda: {row.request.pk: row for row in rows_for(viewer, shared, changed)},
    )
    rows = [
        _render_row(
            viewer,
            shared,
            lines[request.pk],
            matches=request.pk in matching,
            whole=cards,
        )
        for request in changed
    ]
    concerned = {
        pk
        for request in changed
        for pk in (request.requested_by_id, request.assigned_to_id)
    }
    return "".join(
        [
            *rows,
            _render_count(viewer, shared, filters),
            render_counts(viewer, shared, concerned),
        ]
    )


def _render_count(viewer: Standing, shared: BatchCache, filters: Filters) -> str:
    """Render how many requests the list has."""
    visibility = _visibility(viewer, shared, filters)
    total = shared.once(
        ("total", visibility), lambda: request_list.count_of(viewer, filters)
    )
    snoozed = (
        snoozes_of(viewer)[0]
        if filters.plain and viewer.pk in shared.once("snoozers", snoozers)
        else 0
    )
    others = waiting_for_others(viewer, shared) if filters.plain else 0
    context = {
        "found_count": total,
        "needed_count": total - others,
        "others_count": others,
        "snoozed_count": snoozed,
        "count_limit": COUNT_LIMIT,
        "filters": filters,
        "oob": True,
    }
    return shared.once(
        ("count", total, snoozed, others),
        lambda: render_to_string("approvals/inbox/_count.html", context),
    )


def _visibility(viewer: Standing, shared: BatchCache, filters: Filters) -> Hashable:
    """Return a key that is equal for people who see the same rows in this list."""
    # With the filter “assigned to me”, or with snoozed requests, no one else sees the same rows.
    own = filters.mine or viewer.pk in shared.once("snoozers", snoozers)
    return viewer.pk if own else visibility_key(viewer)


def _rights(viewer: Standing) -> Hashable:
    """Return a key that is equal for people who see the same rows apart from their section."""
    return "decides" if permissions.decides_everything(viewer) else viewer.pk


def _matching(
    viewer: Standing, filters: Filters, changed: list[ApprovalRequest]
) -> set[UUID]:
    matching = request_list.matching(viewer, filters).filter(
        pk__in=[request.pk for request in changed]
    )
    return set(matching.values_list("pk", flat=True))


def _render_row(
    viewer: Standing, shared: BatchCache, row: InboxRow, *, matches: bool, whole: bool
) -> str:
    card = card_for(viewer, row.request) if whole else None
    row = row.seen_by(viewer)
    own_vote = row.voted and row.voted.vote.pk
    own = (row.section, row.pickable, own_vote, row.ballot and row.ballot.look)
    render_key = (
        "line",
        row.request.pk,
        row.version,
        own,
        matches,
        card and card.render_key,
    )

    def render() -> str:
        context = {
            "version": row.version,
            "rows": [row.shown],
            "card": card,
            "matches": matches,
        }
        return render_to_string(
            "approvals/inbox/_push_row.html", context | {"quiet": not whole}
        )

    return shared.once(render_key, render)
