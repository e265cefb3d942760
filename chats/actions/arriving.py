"""What people send: a chat is opened, a message arrives, in place of an earlier one or to be answered once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.access import permissions
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.runtime.canonical import clean_text
from approvals.states import Door, Kind, Verdict
from chats import queries
from chats.actions.ending import stop_turn
from chats.actions.keeping import add_message, start_turn
from chats.agent.agent import Agent
from chats.exceptions import (
    ApprovalPending,
    BadMessage,
    ChatNotFound,
    ChatPruned,
    HistoryDiffers,
    MessageKnown,
    TurnRunning,
    UnknownMessage,
)
from chats.models import Chat, Message, Turn
from chats.queries import projection
from chats.states import CEDAR, CHAT, TurnState

MAX_TEXT = 20_000
MAX_ID = 200


@dataclass(frozen=True, slots=True)
class Arrival:
    """What became of a message: a new turn, or the answer to the one open question."""

    turn: Turn
    answered: ApprovalRequest | None = None


def open_chat(*, owner: User, agent: Agent, public_id: str = "") -> Chat:
    """The owner's chat of that public id, made on first use."""
    if len(public_id) > MAX_ID or public_id != clean_text(public_id):
        raise BadMessage(_("A chat id must be text of at most %(limit)s characters.") % {"limit": MAX_ID})
    chat, _created = Chat.objects.get_or_create(
        owner=owner, public_id=public_id or uuid4().hex, defaults={"agent": agent.name}
    )
    return chat


def post_message(
    chat: Chat, text: str, *, by: Actor, agent: Agent, via: Door, context: Mapping[str, Any] | None = None
) -> Arrival:
    """Take a person's message: it starts a turn, or answers the one open question that offers no options.

    `context` is what their page sent along, checked JSON; it is kept with a new message, and not with an answer.
    ChatNotFound (only its owner writes in a chat), BadMessage, TurnRunning, ApprovalPending.
    """
    text = clean_text(text.strip())
    _check_texts([text])
    with transaction.atomic():
        locked = _locked(chat, by)
        current = queries.unfinished_turn(locked)
        if current is None:
            return Arrival(_begin(locked, uuid4().hex, [text], agent, via, context))
    # Outside the block: what comes may end in a refusal, which has to leave an expiry standing.
    return Arrival(current, _answer_open_question(current, text, by, via))


def add_user_message(
    chat: Chat,
    message_id: str,
    texts: Sequence[str],
    *,
    by: Actor,
    agent: Agent,
    via: Door,
    in_place_of: str = "",
    context: Mapping[str, Any] | None = None,
) -> Turn:
    """A client's new message, kept as it was sent, and the turn that answers it.

    `in_place_of` is an earlier message of the user's: it and all behind it are cut off first, and what was still asked
    there is cancelled. MessageKnown, UnknownMessage, BadMessage, ChatNotFound, TurnRunning, ApprovalPending.
    """
    _check_texts(texts)
    with transaction.atomic():
        locked = _locked_to_cut(chat, by) if in_place_of else _locked(chat, by)
        if in_place_of:
            edited = _shown(locked, in_place_of, "user")
            _cut(locked, edited.position, by=by, via=via)
        if locked.shown.filter(message_id=message_id).exists():
            raise MessageKnown
        _refuse_unfinished(locked)
        return _begin(locked, message_id, texts, agent, via, context)


def answer_again(chat: Chat, message_id: str, *, by: Actor, agent: Agent, via: Door) -> Turn:
    """A new turn for a message of the user's; what stood behind it is cut off, and what was asked there is cancelled.

    UnknownMessage, HistoryDiffers (it is no user's message), ChatNotFound, TurnRunning.
    """
    with transaction.atomic():
        locked = _locked_to_cut(chat, by)
        _cut(locked, _shown(locked, message_id, "user").position + 1, by=by, via=via)
        return start_turn(locked, "", agent, source=_source(via))


def _locked_to_cut(chat: Chat, by: Actor) -> Chat:
    """As `_locked`, with the turn that may have to be stopped: turns come before their chat, as where a turn ends."""
    if (current := queries.unfinished_turn(chat)) is not None:
        Turn.objects.select_for_update(no_key=True).get(pk=current.pk)
    return _locked(chat, by)


def _locked(chat: Chat, by: Actor) -> Chat:
    if chat.owner_id != by.pk:
        raise ChatNotFound
    if chat.root_id is not None:
        raise BadMessage(_("Only an agent writes in this conversation. Write in the chat that started it."))
    locked = Chat.objects.select_for_update(of=("self",), no_key=True).select_related("owner").get(pk=chat.pk)
    if locked.pruned_at is not None:
        raise ChatPruned
    return locked


def _check_texts(texts: Sequence[str]) -> None:
    length = sum(map(len, texts))
    if not any(text.strip() for text in texts) or length > MAX_TEXT:
        raise BadMessage(
            _("A message must have 1 to %(limit)s characters. This one has %(length)s.")
            % {"limit": f"{MAX_TEXT:,}", "length": f"{length:,}"}
        )


def _begin(
    chat: Chat, message_id: str, texts: Sequence[str], agent: Agent, via: Door, context: Mapping[str, Any] | None
) -> Turn:
    add_message(chat, message_id, "user", projection.user_parts(texts, context))
    return start_turn(chat, " ".join(texts), agent, source=_source(via))


def _source(via: Door) -> str:
    return CEDAR if via == Door.CEDAR else CHAT


def _shown(chat: Chat, message_id: str, role: str) -> Message:
    found = chat.shown.filter(message_id=message_id).first()
    if found is None:
        raise UnknownMessage
    if found.role != role:
        raise HistoryDiffers
    return found


def _cut(chat: Chat, position: int, *, by: Actor, via: Door) -> None:
    """Take the messages from `position` on out of the conversation. TurnRunning."""
    current = queries.unfinished_turn(chat)
    if current is not None:
        if current.state != TurnState.SUSPENDED:
            raise TurnRunning
        # An open request may not outlive the message that asked.
        stop_turn(chat, by=by, via=via)
    chat.shown.filter(position__gte=position).update(cut_at=timezone.now())


def _refuse_unfinished(chat: Chat) -> None:
    current = queries.unfinished_turn(chat)
    if current is None:
        return
    waiting = queries.open_requests(current)
    raise ApprovalPending(waiting) if current.state == TurnState.SUSPENDED and waiting else TurnRunning


def _answer_open_question(turn: Turn, text: str, by: Actor, via: Door) -> ApprovalRequest:
    if turn.state != TurnState.SUSPENDED:
        raise TurnRunning
    waiting = queries.open_requests(turn)
    if (
        len(waiting) != 1
        or waiting[0].kind != Kind.QUESTION
        or waiting[0].options
        or not waiting[0].allow_text
        or not permissions.may_answer(by, waiting[0])
    ):
        raise ApprovalPending(waiting) if waiting else TurnRunning
    question = waiting[0]
    desk.decide(question.pk, by=by, via=via, verdict=Verdict.RESPOND, answer=text)
    return question
