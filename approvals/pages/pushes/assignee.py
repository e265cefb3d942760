"""Pushes to open pages when a request is claimed, unassigned, assigned, commented on or resumed from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from approvals.access.standing import Standing
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.models.comments import RequestComment
from approvals.pages.cards import card_for
from approvals.pages.context import visible_request
from approvals.queries import comments
from approvals.queries.results import resumptions_of
from approvals.shown.notes import shown_notes
from approvals.states import Door

ASSIGNED = "request.assigned"
COMMENTED = "request.commented"
RESUMING = "resume."


def render_change(
    viewer: Standing,
    shared: BatchCache,
    event: str,
    request_id: str,
    comment: int | None,
    door: Door,
) -> str:
    """Render the fragments for a page of this kind (`door`) after a `request_handled` notification."""
    request = visible_request(viewer, shared, request_id)
    if request is None:
        # It was assigned to someone else: remove it from the pages of people who may no longer see it.
        return render_to_string("approvals/people/_push_gone.html", {"pk": request_id})
    card = card_for(viewer, request, door=door)
    context: dict[str, Any] = {"card": card, "event": event}
    render_keys = [card.render_key]
    if event == ASSIGNED:
        context |= {
            "whole": True,
            "to_me": request.pending and request.assigned_to_id == viewer.pk,
        }
    if event.startswith(RESUMING):
        context["resumption"] = resumptions_of([request]).get(request.pk)
    if comment is not None:
        context["comments"] = shown_notes(
            comments.comments_of(request).filter(pk=comment)
        )
    return shared.once(
        ("handled", *render_keys),
        lambda: render_to_string("approvals/people/_push.html", context),
    )


def render_notification(viewer: Standing, shared: BatchCache, request_id: str) -> str:
    """Render a browser notification of a request that waits for this person; "" if it does not."""
    request = visible_request(viewer, shared, request_id) if request_id else None
    card = card_for(viewer, request) if request is not None else None
    return (
        render_to_string("approvals/_browser_notification.html", {"card": card})
        if card is not None and card.may_close
        else ""
    )


def render_missed(viewer: Standing, since: datetime, *, limit: int) -> str | None:
    """Render the changes since `since` for a page rendered then; None if more than `limit` requests were touched."""
    touched = list(comments.requests_touched_since(viewer, since)[: limit + 1])
    if not touched:
        return ""
    if len(touched) > limit:
        return None
    notes: dict[Any, list[RequestComment]] = {}
    for note in comments.comments_since(touched, since)[: 10 * limit]:
        notes.setdefault(note.request_id, []).append(note)
    resumptions = resumptions_of(touched)

    def rendered(request: ApprovalRequest) -> str:
        context = {
            "card": card_for(viewer, request),
            "comments": shown_notes(notes.get(request.pk, [])),
        }
        return render_to_string(
            "approvals/people/_push.html",
            context | {"resumption": resumptions.get(request.pk)},
        )

    return "".join(map(rendered, touched))
