"""What people send: a chat is opened, a message arrives."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from approvals import actions as desk
from approvals import auth
from approvals.answers import answer_to
from approvals.canonical import clean_text
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from chats import queries
from chats.actions.keeping import add_message, queue_after_commit, ring_after_commit
from chats.agent.agent import Agent
from chats.exceptions import ApprovalPending, BadMessage, ChatNotFound, TurnRunning
from chats.models import Chat, Turn
from chats.states import TurnState

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
        raise BadMessage(f"A chat id is a text of at most {MAX_ID} characters.")
    chat, _ = Chat.objects.get_or_create(
        owner=owner, public_id=public_id or uuid4().hex, defaults={"agent": agent.name}
    )
    return chat


def post_message(chat: Chat, text: str, *, by: User, agent: Agent, via: Door, message_id: str = "") -> Arrival:
    """Take a person's message: it starts a turn, or answers the one open free-text question.

    ChatNotFound (only its owner writes in a chat), BadMessage, TurnRunning, ApprovalPending.
    """
    if chat.owner_id != by.pk:
        raise ChatNotFound
    text = clean_text(text.strip())
    if not 1 <= len(text) <= MAX_TEXT:
        raise BadMessage(f"A message has 1 to {MAX_TEXT:,} characters; this one has {len(text):,}.")
    with transaction.atomic():
        locked = Chat.objects.select_for_update().get(pk=chat.pk)
        current = queries.unfinished_turn(locked)
        if current is None:
            return Arrival(_start_turn(locked, text, agent, message_id or uuid4().hex))
    # Outside the block: what comes may end in a refusal, which has to leave an expiry standing.
    return Arrival(current, _answer_open_question(current, text, by, via))


def _start_turn(chat: Chat, text: str, agent: Agent, message_id: str) -> Turn:
    if len(message_id) > MAX_ID or message_id != clean_text(message_id):
        raise BadMessage(f"A message id is a text of at most {MAX_ID} characters.")
    if chat.messages.filter(message_id=message_id).exists():
        raise BadMessage("A message of that id is in the chat already.")
    add_message(chat, message_id, "user", [{"type": "text", "text": text}])
    turn = Turn.objects.create(chat=chat, message_id=uuid4().hex, agent=agent.name, agent_version=agent.version)
    chat.title = chat.title or text.splitlines()[0][:80]
    chat.updated_at = timezone.now()
    chat.save(update_fields=["title", "updated_at"])
    queue_after_commit(turn.pk)
    ring_after_commit(chat.pk)
    return turn


def _answer_open_question(turn: Turn, text: str, by: User, via: Door) -> ApprovalRequest:
    if turn.state != TurnState.SUSPENDED:
        raise TurnRunning
    waiting = queries.open_requests(turn)
    if (
        len(waiting) != 1
        or waiting[0].kind != Kind.QUESTION
        or not waiting[0].allow_text
        or not auth.may_answer(by, waiting[0])
    ):
        raise ApprovalPending(waiting) if waiting else TurnRunning
    question = waiting[0]
    desk.decide(question.pk, by=by, via=via, verdict=Verdict.RESPOND, answer=answer_to(question, text=text))
    return question
