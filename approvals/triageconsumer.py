"""The list of requests, live: what changes shows in place, what is new is announced and put nowhere by itself."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import QueryDict
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from approvals import queries, triage
from approvals.cards import card_for
from approvals.consumers import CATCH_UP, DeskConsumer, since_of
from approvals.exceptions import Invalid, NotFound
from approvals.lenses import Lens, lens_from
from approvals.lines import line_for
from approvals.models import ApprovalRequest
from approvals.queries import COUNT_LIMIT


class RequestsConsumer(DeskConsumer):
    """The page `/requests/`; its address holds the page's own filters, and `since` when it was rendered."""

    def groups_for(self, user: User) -> list[str]:
        query = QueryDict(self.scope["query_string"], mutable=True)
        query.pop("since", None)
        try:
            self.lens = lens_from(query)
        except Invalid as refusal:
            raise NotFound(_("list")) from refusal
        return super().groups_for(user)

    def catch_up(self, user: User) -> str:
        since = since_of(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(triage.listed(queries.changed_since(user, since), whole=True)[: CATCH_UP + 1])
        if len(missed) > CATCH_UP:
            return render_to_string("approvals/_stale.html")
        return pushed(user, self.lens, missed)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """A request was asked, changed or has ended; a workflow without one is not on this page."""
        if event["request"]:
            await self.push(_changed, self.lens, event["request"])


def _changed(user: User, lens: Lens, request_id: str) -> str:
    return pushed(user, lens, list(triage.listed(queries.requests_for(user).filter(pk=request_id), whole=True)))


def pushed(user: User, lens: Lens, changed: list[ApprovalRequest]) -> str:
    """HTML for these requests: their lines, their cards where a page has them open, and the count; "" for none."""
    if not changed:
        return ""
    seen = set(triage.matching(user, lens).filter(pk__in=[one.pk for one in changed]).values_list("pk", flat=True))
    context = {"found_count": triage.count_of(user, lens), "count_limit": COUNT_LIMIT, "lens": lens, "oob": True}
    return "".join(
        render_to_string(
            "approvals/_push_line.html",
            {"line": line_for(user, one), "card": card_for(user, one), "fits": one.pk in seen},
        )
        for one in changed
    ) + render_to_string("approvals/_triage_count.html", context)
