"""The context of a chat's page, and the fragments that update open pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.queries.results import results_of
from chats import queries
from chats.exceptions import ChatNotFound
from chats.models import Chat, Message, Turn
from chats.pages.messages import CallRequests, MessageView, call_ids, message_views
from chats.pages.usage import summary_of
from chats.queries import subagents
from chats.queries.values import CONTINUED, remarks_in
from chats.states import TurnState

#: A push renders this many of the last messages: the user's, and the assistant's answer.
PUSHED = 2
#: Maximum bytes of parts in a push, which must fit into a WebSocket message. Pages fetch more themselves.
MAX_PARTS = 256 * 1024
#: While a turn runs, its chat's usage is not refreshed.
RUNS = frozenset({TurnState.QUEUED, TurnState.RUNNING})
#: Maximum messages removed by an edit that a push removes.
CUT = 50


def chat_context(
    viewer: Standing, chat: Chat, *, limit: int, before: int | None = None
) -> dict[str, Any]:
    """Return the last `limit` messages (before a position, for older ones), and the state of the turn."""
    messages = queries.last_messages(chat, limit=limit + 1, before=before)
    shown = messages[-limit:]
    turn = queries.last_turn(chat)
    suspended = _suspended(turn)
    requests = _requests_of(chat, shown, suspended)
    own_waiting = queries.own_open_requests(suspended) if suspended else ()
    waiting = [*own_waiting, *chain.from_iterable(requests.below.values())]
    may_write = (
        chat.owner_id == viewer.pk and chat.root_id is None and chat.pruned_at is None
    )
    cut = (
        turn is not None
        and not turn.unfinished
        and _is_cut(shown[-1:], turn.message_id)
    )
    return {
        "chat": chat,
        "views": message_views(viewer, shown, requests),
        "older": shown[0].position if len(messages) > limit else None,
        "turn": turn,
        "committed": turn.steps.count() if turn is not None and turn.unfinished else 0,
        "waiting": waiting,
        "answers": queries.question_for_message(viewer, waiting),
        "above": subagents.parent_chat(chat),
        "may_stop": turn is not None
        and turn.unfinished
        and permissions.may_stop(viewer, chat.owner_id),
        # An unfinished turn is counted when it pauses or ends.
        "usage": None if turn is not None and turn.state in RUNS else summary_of(chat),
        "may_write": may_write,
        "may_continue": may_write and cut,
    }


def _suspended(turn: Turn | None) -> Turn | None:
    """Return the turn if it waits for people."""
    return turn if turn is not None and turn.state == TurnState.SUSPENDED else None


def _requests_of(
    chat: Chat, messages: Sequence[Message], suspended: Turn | None
) -> CallRequests:
    """Return the requests of the calls in these messages; `suspended` is the waiting turn, if any."""
    calls = call_ids(messages)
    conversations = subagents.conversations(chat.pk, calls)
    below = subagents.open_requests(suspended) if suspended and conversations else {}
    own = queries.requests_of(chat, calls)
    return CallRequests(
        own=own,
        results=results_of(list(own.values())),
        conversations=conversations,
        below=below,
    )


def part_context(
    viewer: Standing, chat: Chat, message_pk: int, number: int
) -> dict[str, Any]:
    """Return one part of a message. Raise ChatNotFound."""
    message = queries.message_of(chat, message_pk)
    if message is None or number >= len(message.parts):
        raise ChatNotFound
    requests = _requests_of(chat, [message], _suspended(queries.last_turn(chat)))
    (view,) = message_views(viewer, [message], requests)
    return {"chat": chat, "view": view, "part": view.parts[number], "number": number}


def composer_context(viewer: Standing, chat: Chat) -> dict[str, Any]:
    """Return the context of the composer: pending requests, and the question that a message would answer."""
    suspended = _suspended(queries.unfinished_turn(chat))
    waiting = [] if suspended is None else queries.open_requests(suspended)
    return {
        "waiting": waiting,
        "answers": queries.question_for_message(viewer, waiting),
    }


def _is_cut(last: Sequence[Message], message_id: str) -> bool:
    """Return whether the last message is this answer and could be continued."""
    codes = [remark["code"] for message in last for remark in remarks_in(message.parts)]
    return bool(codes) and last[0].message_id == message_id and codes[-1] in CONTINUED


def render_push(viewer: Standing, chat: Chat, *, limit: int = PUSHED) -> str:
    """Render out-of-band fragments: the parts of the last messages, the turn's state, and the removal of deleted messages."""
    context = chat_context(viewer, chat, limit=limit)
    context |= {
        "cut": queries.last_cut_messages(chat, limit=CUT),
        "pushed": _with_parts(context),
    }
    return render_to_string("chats/chat/_push.html", context)


def _with_parts(context: dict[str, Any]) -> list[tuple[MessageView, list[SafeString]]]:
    """Return the messages with their parts as fragments of a push.

    The last parts are most likely to be new, so they are included. Others that do not fit are replaced by fragments that make a
    page fetch them if it lacks them.
    """
    left = MAX_PARTS
    messages = []
    for view in reversed(context["views"]):
        fragments = []
        for number, part in reversed([*enumerate(view.parts)]):
            values = context | {
                "view": view,
                "part": part,
                "number": number,
                "oob": True,
            }
            fragment = render_to_string("chats/chat/_part.html", values)
            size = len(fragment.encode())
            if size > left:
                fragment = render_to_string("chats/chat/_fetched_part.html", values)
            else:
                left -= size
            fragments.append(fragment)
        messages.append((view, fragments[::-1]))
    return messages[::-1]
