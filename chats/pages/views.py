"""The pages of chats and checkpoints. Every read goes through `queries`, every write through `actions`."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from approvals.db.cursors import number_from, take_page
from approvals.exceptions import Refusal
from approvals.http import SignedIn, actor_of, refusals_as_pages
from approvals.states import Door
from approvals.text.secrets import masked
from approvals.text.tables import pretty
from chats import actions, queries
from chats.actions.attachments import SentFile
from chats.agent import registry
from chats.agent.agent import Agent
from chats.exceptions import ApprovalPending, ChatNotFound, TurnRunning
from chats.models import Chat, TurnCheckpoint
from chats.pages.context import (
    chat_context,
    composer_context,
    part_context,
)
from chats.pages.messages import part_view
from chats.queries import branches
from chats.queries.agents import agent_named, agents
from chats.queries.listing import MAX_WORDS
from chats.queries.secrets import secret_names_of
from chats.states import TurnState

PAGE = 30
MESSAGES_SHOWN = 60
CHECKPOINTS = 200
#: States to filter the list by. A turn is queued only briefly, and counts as running.
LISTED = (
    TurnState.SUSPENDED,
    TurnState.RUNNING,
    TurnState.COMPLETED,
    TurnState.STOPPED,
    TurnState.FAILED,
)


@require_GET
def chats(request: SignedIn) -> HttpResponse:
    """List the chats that a person may read and that match the filters, latest first, page by page."""
    filters = queries.ChatFilters(
        words=request.GET.get("q", "").replace("\x00", "").strip()[:MAX_WORDS],
        agent=request.GET.get("agent", "").replace("\x00", ""),
        state=_state(request.GET.get("state", "")),
    )
    matching = queries.filtered_chats_for(
        request.standing, filters, after=number_from(request.GET.get("before", ""))
    )
    shown, more = take_page(matching, PAGE)
    context = {
        "chats": [
            (chat, TurnState(chat.state) if chat.state else None) for chat in shown
        ],
        "older_query": filters.query(before=shown[-1].pk) if more else "",
        "filters": filters,
        "states": [(state.value, state.label) for state in LISTED],
        "agents": agents(),
    }
    return render(request, "chats/chat/list.html", context)


def _state(value: str) -> str:
    """Return the state to filter by; "" for an unknown one."""
    return value if value in {state.value for state in LISTED} else ""


@require_POST
@refusals_as_pages
def new_chat(request: SignedIn) -> HttpResponse:
    """Start a chat, with its first message if there is one."""
    agent = agent_named(request.POST.get("agent", ""))
    text = _text(request)
    with transaction.atomic():  # so that a refused message does not leave an empty chat
        chat = actions.open_chat(owner=request.user, agent=agent)
        if text.strip():
            actions.post_message(
                chat, text, by=actor_of(request), agent=agent, via=Door.CHAT
            )
    return redirect(chat)


def _text(request: HttpRequest) -> str:
    """Return the message with `\\n` line breaks; browsers send CRLF."""
    return request.POST.get("text", "").replace("\r\n", "\n")


def _files(request: HttpRequest) -> list[SentFile]:
    """Return the uploaded files. The size of the whole request is limited earlier."""
    uploaded = request.FILES.getlist("files")
    # A browser sends one file without a name and content if none was chosen.
    return [
        SentFile(str(file.name or ""), file.read())
        for file in uploaded
        if file.size or file.name
    ]


@require_GET
@refusals_as_pages
def chat_detail(request: SignedIn, pk: int) -> HttpResponse:
    return _chat_page(request, queries.get_chat_for(request.standing, pk))


@require_GET
@refusals_as_pages
def message_part(request: SignedIn, pk: int, message: int, part: int) -> HttpResponse:
    """Return a part of a message for an open page that was too large to be pushed."""
    chat = queries.get_chat_for(request.standing, pk)
    return render(
        request,
        "chats/chat/_part.html",
        part_context(request.standing, chat, message, part),
    )


def _chat_page(
    request: SignedIn,
    chat: Chat,
    *,
    status: int = HTTPStatus.OK,
    draft: str = "",
    **extra: Any,
) -> HttpResponse:
    position = number_from(request.GET.get("before", ""), digits=9)
    context = chat_context(
        request.standing, chat, limit=MESSAGES_SHOWN, before=position
    )
    context |= {
        "branches": branches.branches_of(chat),
        "rendered_at": timezone.now(),
        "draft": draft,
        **extra,
        "agent": _agent_or_none(chat.agent),
    }
    return render(request, "chats/chat/page.html", context, status=status)


def _agent_or_none(name: str) -> Agent | None:
    try:
        return registry.get(settings.HITL_AGENTS, name)
    except registry.UnknownAgent:
        return None


@require_POST
@refusals_as_pages
def post_message(request: SignedIn, pk: int) -> HttpResponse:
    chat = queries.get_chat_for(request.standing, pk)
    text = _text(request)
    try:
        files = _files(request)
        actions.post_message(
            chat,
            text,
            by=actor_of(request),
            agent=agent_named(chat.agent),
            via=Door.CHAT,
            files=files,
            instead=request.POST.get("instead") == "stop",
            answers=request.POST.get("answers"),
        )
    except ChatNotFound:
        raise
    except Refusal as refusal:
        return _refused(request, chat, refusal, text)
    return _pushed(request, chat)


def _refused(
    request: SignedIn, chat: Chat, refusal: Refusal, draft: str
) -> HttpResponse:
    # A refusal because of pending requests disappears when the chat continues.
    extra = {
        "refusal": str(refusal),
        "refusal_passes": isinstance(refusal, ApprovalPending | TurnRunning),
    }
    if request.headers.get("HX-Request"):
        return _composer(request, chat, status=refusal.status, draft=draft, **extra)
    return _chat_page(request, chat, status=refusal.status, draft=draft, **extra)


def _composer(
    request: SignedIn, chat: Chat, *, status: int = HTTPStatus.OK, **context: Any
) -> HttpResponse:
    context |= {"chat": chat, **composer_context(request.standing, chat)}
    return render(request, "chats/chat/_composer.html", context, status=status)


@require_POST
@refusals_as_pages
def stop(request: SignedIn, pk: int) -> HttpResponse:
    chat = queries.get_chat_for(request.standing, pk)
    actions.stop_turn(chat, by=actor_of(request), via=Door.CHAT)
    return _pushed(request, chat)


def _pushed(request: SignedIn, chat: Chat) -> HttpResponse:
    """Return to the chat. A live page gets no content, which could be older than a push that has arrived before it."""
    if request.headers.get("HX-Request"):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return redirect(chat)


@require_GET
@refusals_as_pages
def checkpoints(request: SignedIn, pk: int) -> HttpResponse:
    """List a chat's checkpoints by message: the latest, or with `?before=` those before a checkpoint."""
    chat = queries.get_chat_for(request.standing, pk)
    latest = queries.checkpoints_of(chat).defer("tail").order_by("-id")
    before = number_from(request.GET.get("before", ""))
    if before is not None:
        latest = latest.filter(pk__lt=before)
    rows = [] if chat.pruned_at is not None else list(latest[: CHECKPOINTS + 1])
    grouped = queries.group_by_message(reversed(rows[:CHECKPOINTS]))
    messages = chat.shown.filter(message_id__in=grouped)
    context = {
        "chat": chat,
        "grouped": grouped,
        "shown": set(messages.values_list("message_id", flat=True)),
        "earlier": rows[CHECKPOINTS - 1].pk if len(rows) > CHECKPOINTS else None,
        "latest": before is None,
    }
    return render(request, "chats/lookback/checkpoints.html", context)


@require_GET
@refusals_as_pages
def checkpoint(request: SignedIn, pk: int) -> HttpResponse:
    """Show one checkpoint, in readable form and as its stored JSON."""
    chat, stored, parts = queries.get_checkpoint_for(request.standing, pk)
    shown = masked(parts, secret_names_of(chat))
    context = {
        "chat": chat,
        "checkpoint": _shown_checkpoint(stored),
        "may_branch": branches.may_branch(request.user.pk, chat),
        "asks": len(branches.open_part_ids(parts)),
        "token": uuid4().hex,
        "parts": [part_view(part) for part in shown],
        "raw": pretty({"id": stored.message_id, "role": "assistant", "parts": shown}),
    }
    return render(request, "chats/lookback/checkpoint.html", context)


#: What the page of a checkpoint shows of its columns: not its parts, which it shows with masks.
_OF_CHECKPOINT = (
    "pk", "ordinal", "kind", "message_id", "run_id", "finish_reason", "stopped", "created_at", "digest", "error",
)  # fmt: skip


def _shown_checkpoint(stored: TurnCheckpoint) -> dict[str, Any]:
    columns = {name: masked(getattr(stored, name)) for name in _OF_CHECKPOINT}
    return columns | {"kind_label": stored.get_kind_display()}
