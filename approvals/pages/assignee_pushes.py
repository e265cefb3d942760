"""What open pages are pushed when people are at a request: who is on it, to whom it was handed, what was said."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.template.loader import render_to_string

from approvals.live.batching import Shared
from approvals.models import ApprovalRequest
from approvals.models.comments import RequestComment
from approvals.pages.cards import card_for
from approvals.pages.context import seen_request, seen_waiting, workflow_card
from approvals.queries import comments as threads
from approvals.states import Door

ASSIGNED = "request.assigned"


def handled(user: User, shared: Shared, event: str, request_id: str, comment: int | None, door: Door) -> str:
    """Fragments for a page of this door's, after a ring that `telling.handled` has sent."""
    request = seen_request(user, shared, request_id)
    if request is None:
        # Handed to somebody else: it leaves the pages of who may not see it any more.
        return render_to_string("approvals/people/_push_gone.html", {"pk": request_id})
    card = card_for(user, request, door=door)
    context: dict[str, Any] = {"card": card, "event": event}
    looks = [card.look]
    if event == ASSIGNED:
        context |= {"whole": True, "to_me": request.pending and request.assigned_to_id == user.pk}
        if request.pending and door == Door.DASHBOARD:
            waiting = seen_waiting(user, shared, request)
            context["item"] = workflow_card(user, waiting) if waiting is not None else None
            looks += [each.look for each in context["item"]["cards"]] if waiting is not None else []
    if comment is not None:
        context["comments"] = threads.comments_of(request).filter(pk=comment)
    return shared.once(("handled", *looks), lambda: render_to_string("approvals/people/_push.html", context))


def news(user: User, shared: Shared, request_id: str) -> str:
    """What a browser may notify of: a request that waits for this very person, if it is one."""
    request = seen_request(user, shared, request_id) if request_id else None
    card = card_for(user, request) if request is not None else None
    return (
        render_to_string("approvals/_browser_notification.html", {"card": card})
        if card is not None and card.may_close
        else ""
    )


def catch_up(user: User, since: datetime, *, limit: int) -> str | None:
    """Fragments for a page that was rendered at `since`; None where more than `limit` requests were touched."""
    touched = list(threads.touched_since(user, since)[: limit + 1])
    if not touched:
        return ""
    if len(touched) > limit:
        return None
    said: dict[Any, list[RequestComment]] = {}
    for comment in threads.said_since(touched, since)[: 10 * limit]:
        said.setdefault(comment.request_id, []).append(comment)
    return "".join(_missed(user, request, said.get(request.pk, [])) for request in touched)


def _missed(user: User, request: ApprovalRequest, comments: list[RequestComment]) -> str:
    return render_to_string("approvals/people/_push.html", {"card": card_for(user, request), "comments": comments})
