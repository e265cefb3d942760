"""Views of a chat's history: its timeline, the comparison of two checkpoints, branches and the JSON export."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from approvals.db.cursors import number_from
from approvals.http import SignedIn, refusals_as_pages
from approvals.live.streaming import streamed_response
from approvals.states import Door
from chats import actions, queries
from chats.exceptions import ChatNotFound
from chats.lookback import comparing
from chats.lookback.timeline import TimelineCursor, page_of, shown_entry
from chats.models import Chat, TurnCheckpoint
from chats.queries import export as exporting
from chats.queries.agents import agent_named
from chats.queries.secrets import secret_names_of

#: How many checkpoints the select boxes list; the query string may name any.
CHOICES = 200


@require_GET
@refusals_as_pages
def timeline(request: SignedIn, pk: int) -> HttpResponse:
    """Show the timeline of a chat: the latest entries, or those before or after a cursor."""
    chat = queries.get_chat_for(request.standing, pk)
    before, after = (
        TimelineCursor.parse(request.GET.get(side, "")) for side in ("before", "after")
    )
    page = page_of(chat, before=before, after=after)
    context = {
        "chat": chat,
        "earlier": page.earlier,
        "later": page.later,
        "entries": [shown_entry(entry) for entry in page.entries],
        "live": before is None and after is None,
    }
    return render(request, "chats/lookback/timeline.html", context)


@require_GET
@refusals_as_pages
def compare(request: SignedIn, pk: int) -> HttpResponse:
    """Compare two checkpoints of a chat: the chosen ones, else the last two, or the one on the right and its predecessor."""
    chat = queries.get_chat_for(request.standing, pk)
    if chat.pruned_at is not None:
        return render(request, "chats/lookback/compare.html", {"chat": chat})
    made = TurnCheckpoint.objects.filter(chat_pk=chat.pk).defer("tail").order_by("-pk")
    choices = list(made[:CHOICES])
    right = _chosen(request, "right", chat) or (choices[0] if choices else None)
    left = (
        _chosen(request, "left", chat)
        or (made.filter(pk__lt=right.pk).first() if right else None)
        or right
    )
    context: dict[str, Any] = {
        "chat": chat,
        "left": left,
        "right": right,
        "token": uuid4().hex,
    }
    chosen = {each.pk: each for each in (*choices, left, right) if each is not None}
    context["choices"] = queries.group_by_message(chosen[key] for key in sorted(chosen))
    if left is not None and right is not None:
        context["comparison"] = comparing.compare(
            queries.parts_at(left), queries.parts_at(right), secret_names_of(chat)
        )
    return render(request, "chats/lookback/compare.html", context)


def _chosen(request: HttpRequest, side: str, chat: Chat) -> TurnCheckpoint | None:
    """Return the checkpoint named in the query string, or None. Raise ChatNotFound if it is not one of this chat."""
    text = request.GET.get(side, "")
    if not text:
        return None
    pk = number_from(text)
    checkpoint = (
        TurnCheckpoint.objects.filter(chat_pk=chat.pk, pk=pk).defer("tail").first()
        if pk is not None
        else None
    )
    if checkpoint is None:
        raise ChatNotFound
    return checkpoint


@require_POST
@refusals_as_pages
def branch(request: SignedIn, pk: int) -> HttpResponse:
    """Create a branch from a checkpoint; repeating the same form returns the same branch."""
    chat, checkpoint, _ = queries.get_checkpoint_for(request.standing, pk)
    made = actions.branch_chat(
        chat,
        checkpoint,
        by=request.user,
        agent=agent_named(chat.agent),
        token=request.POST.get("token", ""),
        via=Door.CHAT,
    )
    return redirect(made)


@require_GET
@refusals_as_pages
def export(request: SignedIn, pk: int) -> HttpResponse:
    """Download a chat with all its data as JSON."""
    chat = queries.get_chat_for(request.standing, pk)
    return streamed_response(
        request,
        exporting.pieces(chat),
        content_type="application/json",
        headers=exporting.headers(chat),
    )
