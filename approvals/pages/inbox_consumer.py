"""Live updates of the inbox: changed requests are updated in place, new ones are announced and inserted on request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from approvals import queries
from approvals.access import permissions
from approvals.access.visibility import visibility_key
from approvals.exceptions import Invalid, NotFound
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.pages.consumers import CATCH_UP, DeskConsumer, parse_since
from approvals.pages.context import waiting_count_for
from approvals.pages.inbox_rows import row_for
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import Filters, filters_from


class InboxConsumer(DeskConsumer):
    """The WebSocket of `/requests/`. Its query string holds the page's filters, and in `since` when it was rendered."""

    def groups_for(self, user: User) -> list[str]:
        try:
            query = QueryDict(self.scope["query_string"], mutable=True)
            query.pop("since", None)
            self.filters = filters_from(query)
        except (Invalid, SuspiciousOperation) as refusal:
            raise NotFound(_("List not found. It may not exist, or you may not have access.")) from refusal
        return super().groups_for(user)

    def catch_up(self, user: User, shared: BatchCache) -> str:
        since = parse_since(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(request_list.listed(queries.changed_since(user, since), whole=True)[: CATCH_UP + 1])
        if len(missed) > CATCH_UP:
            return render_to_string("approvals/_outdated.html")
        return render_push(user, shared, self.filters, missed)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """Push a request that was created, changed or decided; the inbox shows no workflows."""
        if event["request"]:
            await self.push(_changed, self.filters, event["request"])


def _changed(user: User, shared: BatchCache, filters: Filters, request_id: str) -> str:
    def read() -> list[ApprovalRequest]:
        return list(request_list.listed(queries.requests_for(user).filter(pk=request_id), whole=True))

    return render_push(user, shared, filters, shared.once(("request", visibility_key(user)), read))


def render_push(user: User, shared: BatchCache, filters: Filters, changed: list[ApprovalRequest]) -> str:
    """Render these requests: their rows, their cards if the page has them open, and the count; "" for none."""
    if not changed:
        return ""
    # With the filter “assigned to me”, no one else sees the same rows.
    visibility = user.pk if filters.mine else visibility_key(user)
    matching = shared.once(("matching", visibility), lambda: _matching(user, filters, changed))
    total = shared.once(("total", visibility), lambda: request_list.count_of(user, filters))
    context = {"found_count": total, "count_limit": COUNT_LIMIT, "filters": filters, "oob": True}
    rows = [_render_row(user, shared, one, matches=one.pk in matching) for one in changed]
    count = shared.once(("count", total), lambda: render_to_string("approvals/inbox/_count.html", context))
    return "".join([*rows, count, _render_waiting_count(user, shared, changed)])


def _render_waiting_count(user: User, shared: BatchCache, changed: list[ApprovalRequest]) -> str:
    """Render the number in the page's title; "" if it cannot have changed for this person."""
    concerned = {pk for one in changed for pk in (one.requested_by_id, one.assigned_to_id)}
    if not permissions.decides_everything(user) and user.pk not in concerned:
        return ""
    context = {"waiting_count": waiting_count_for(user, shared), "lean": True, "oob": True}
    return shared.once(
        ("waiting", context["waiting_count"]), lambda: render_to_string("approvals/dashboard/_counts.html", context)
    )


def _matching(user: User, filters: Filters, changed: list[ApprovalRequest]) -> set[UUID]:
    found = request_list.matching(user, filters).filter(pk__in=[one.pk for one in changed])
    return set(found.values_list("pk", flat=True))


def _render_row(user: User, shared: BatchCache, request: ApprovalRequest, *, matches: bool) -> str:
    card = card_for(user, request)
    context = {"row": row_for(user, request), "card": card, "matches": matches}
    return shared.once(
        ("line", card.render_key, matches), lambda: render_to_string("approvals/inbox/_push_row.html", context)
    )
