"""The list of requests, live: what changes shows in place, what is new is announced and put nowhere by itself."""

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
from approvals.exceptions import Invalid, NotFound
from approvals.live.batching import Shared
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.pages.consumers import CATCH_UP, DeskConsumer, since_of
from approvals.pages.context import waits_for
from approvals.pages.inbox_rows import line_for
from approvals.queries import COUNT_LIMIT, request_list
from approvals.queries.filters import Lens, lens_from


class RequestsConsumer(DeskConsumer):
    """The page `/requests/`; its address holds the page's own filters, and `since` when it was rendered."""

    def groups_for(self, user: User) -> list[str]:
        try:
            query = QueryDict(self.scope["query_string"], mutable=True)
            query.pop("since", None)
            self.lens = lens_from(query)
        except (Invalid, SuspiciousOperation) as refusal:
            raise NotFound(_("List not found. It may not exist, or you may not have access.")) from refusal
        return super().groups_for(user)

    def catch_up(self, user: User, shared: Shared) -> str:
        since = since_of(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(request_list.listed(queries.changed_since(user, since), whole=True)[: CATCH_UP + 1])
        if len(missed) > CATCH_UP:
            return render_to_string("approvals/_outdated.html")
        return pushed(user, shared, self.lens, missed)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """A request was asked, changed or has ended; a workflow without one is not on this page."""
        if event["request"]:
            await self.push(_changed, self.lens, event["request"])


def _changed(user: User, shared: Shared, lens: Lens, request_id: str) -> str:
    def read() -> list[ApprovalRequest]:
        return list(request_list.listed(queries.requests_for(user).filter(pk=request_id), whole=True))

    return pushed(user, shared, lens, shared.once(("request", permissions.sight_of(user)), read))


def pushed(user: User, shared: Shared, lens: Lens, changed: list[ApprovalRequest]) -> str:
    """HTML for these requests: their lines, their cards where a page has them open, and the count; "" for none."""
    if not changed:
        return ""
    # Through a lens of one's own nobody else sees the same.
    sight = user.pk if lens.mine else permissions.sight_of(user)
    fitting = shared.once(("fitting", sight), lambda: _fitting(user, lens, changed))
    total = shared.once(("total", sight), lambda: request_list.count_of(user, lens))
    context = {"found_count": total, "count_limit": COUNT_LIMIT, "lens": lens, "oob": True}
    lines = [_line(user, shared, one, fits=one.pk in fitting) for one in changed]
    found = shared.once(("count", total), lambda: render_to_string("approvals/inbox/_count.html", context))
    return "".join([*lines, found, _waiting(user, shared, changed)])


def _waiting(user: User, shared: Shared, changed: list[ApprovalRequest]) -> str:
    """The number in the title; "" for whom it cannot have changed."""
    concerned = {pk for one in changed for pk in (one.requested_by_id, one.assigned_to_id)}
    if not permissions.decides_everything(user) and user.pk not in concerned:
        return ""
    context = {"waiting_count": waits_for(user, shared), "lean": True, "oob": True}
    return shared.once(
        ("waiting", context["waiting_count"]), lambda: render_to_string("approvals/dashboard/_counts.html", context)
    )


def _fitting(user: User, lens: Lens, changed: list[ApprovalRequest]) -> set[UUID]:
    found = request_list.matching(user, lens).filter(pk__in=[one.pk for one in changed])
    return set(found.values_list("pk", flat=True))


def _line(user: User, shared: Shared, request: ApprovalRequest, *, fits: bool) -> str:
    card = card_for(user, request)
    context = {"line": line_for(user, request), "card": card, "fits": fits}
    return shared.once(("line", card.look, fits), lambda: render_to_string("approvals/inbox/_push_row.html", context))
