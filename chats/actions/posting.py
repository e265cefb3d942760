"""People's input to a chat: a message, an edit of an earlier message, or a request for another answer."""

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
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.db.canonical_json import clean_text
from approvals.db.transactions import in_line
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor, KeyActor
from approvals.states import Door, Verdict
from approvals.text.numbers import grouped
from chats import queries
from chats.actions import rows
from chats.actions.attachments import SentFile, store_files
from chats.actions.claiming import start_turn, title_of
from chats.actions.ending import stop_turn
from chats.agent.agent import Agent
from chats.exceptions import (
    ApprovalPending,
    BadFile,
    BadMessage,
    ChatNotFound,
    ChatPruned,
    HistoryDiffers,
    MessageKnown,
    QuestionChanged,
    TurnRunning,
    UnknownMessage,
)
from chats.models import Chat, Message, Turn
from chats.queries import Progress, conversations, projection
from chats.states import CEDAR, CHAT, TurnState

MAX_TEXT = 20_000
MAX_ID = 200


@dataclass(frozen=True, slots=True)
class Arrival:
    """The effect of a message: it started `turn`, or it answered a request of `turn`."""

    turn: Turn
    answered: ApprovalRequest | None = None


def open_chat(*, owner: User, agent: Agent, public_id: str = "") -> Chat:
    """Return the owner's chat with that public id; create it on first use. Raise BadMessage for an invalid id."""
    return find_or_create_chat(owner=owner, agent=agent, public_id=public_id)[0]


def find_or_create_chat(
    *, owner: User, agent: Agent, public_id: str = "", text: str = ""
) -> tuple[Chat, bool]:
    """Return the owner's chat with that public id, and whether it is new; a new one gets its title from `text`.

    Raise BadMessage for an invalid id.
    """
    if len(public_id) > MAX_ID or public_id != clean_text(public_id):
        raise BadMessage(
            _("A chat id must be text of at most %(limit)s characters.")
            % {"limit": MAX_ID}
        )
    title = title_of(clean_text(text))
    chat = Chat(
        owner=owner, public_id=public_id or uuid4().hex, agent=agent.name, title=title
    )
    known = queries.find_own_chat(owner, public_id) if public_id else None
    if known is None and rows.NEW_CHAT.save(chat):
        return chat, True
    return known or Chat.objects.get(owner=owner, public_id=public_id), False


def post_message(
    chat: Chat,
    text: str,
    *,
    by: Actor,
    agent: Agent,
    via: Door,
    context: JsonMapping | None = None,
    files: Sequence[SentFile] = (),
    instead: bool = False,
    answers: str | None = None,
    trace: Mapping[str, str] | None = None,
) -> Arrival:
    """Start a turn with a person's message, or answer the one pending question if it takes text and offers no options.

    `context` is checked JSON sent by their page. It is stored with a new message, but not with an answer. With `instead`, stop a
    suspended turn first and cancel its requests: the message is never an answer. `answers` is the id of the question named by the
    person's page, or "" if it named none; then nothing else is answered. It is None for clients that do not name questions.
    `trace` is the context in which a program sent the message (`approvals.trace_context`).

    Raise ChatNotFound (only the owner writes in a chat), ChatPruned, BadMessage, BadFile, TurnRunning, ApprovalPending or
    QuestionChanged.
    """
    text = clean_text(text.strip())
    _check_texts([text], files)
    with transaction.atomic():
        locked = _lock_to_cut(chat, by) if instead else _lock(chat, by)
        if instead:
            _stop_suspended(locked, by=by, via=via)
        current = queries.unfinished_turn(locked)
        if current is None:
            if answers and not instead:
                raise QuestionChanged
            return Arrival(
                _begin(
                    locked,
                    uuid4().hex,
                    [text] if text else [],
                    agent,
                    via,
                    context,
                    files,
                    trace=trace,
                )
            )
    if files:
        raise BadFile(
            _(
                "An answer cannot have files. Answer in words, or wait for the agent to finish."
            )
        )
    # Outside the transaction, so that a refusal does not roll back an expiry.
    return Arrival(current, _answer_open_question(current, text, by, via, answers))


def add_user_message(
    chat: Chat,
    message_id: str,
    texts: Sequence[str],
    *,
    by: Actor,
    agent: Agent,
    via: Door,
    in_place_of: str = "",
    context: JsonMapping | None = None,
    files: Sequence[SentFile] = (),
    metadata: Any = None,
    new: bool = False,
    trace: Mapping[str, str] | None = None,
) -> Turn:
    """Store a client's new message unchanged, and return the turn that answers it.

    `in_place_of` is the id of an earlier message of the user's. It and all later messages are removed from the conversation
    first, and their pending requests are cancelled. `metadata` is checked JSON that the client keeps with it. `new`: the open
    transaction has created the chat.

    Raise MessageKnown, UnknownMessage, BadMessage, BadFile, ChatNotFound, ChatPruned, TurnRunning or ApprovalPending.
    """
    texts = [clean_text(text) for text in texts]
    _check_texts(texts, files)
    with transaction.atomic(savepoint=False):
        if new and not in_place_of:
            # No one else sees the chat yet.
            _remember_maker(chat, by)
            return _begin(
                chat,
                message_id,
                texts,
                agent,
                via,
                context,
                files,
                metadata=metadata,
                first=True,
                trace=trace,
            )
        locked = _lock_to_cut(chat, by) if in_place_of else _lock(chat, by)
        if in_place_of:
            edited = _shown(locked, in_place_of, "user")
            _cut(locked, edited.position, by=by, via=via)
        if locked.shown.filter(message_id=message_id).exists():
            raise MessageKnown
        _refuse_unfinished(locked)
        return _begin(
            locked,
            message_id,
            texts,
            agent,
            via,
            context,
            files,
            metadata=metadata,
            trace=trace,
        )


def answer_again(
    chat: Chat,
    message_id: str,
    *,
    by: Actor,
    agent: Agent,
    via: Door,
    trace: Mapping[str, str] | None = None,
) -> Turn:
    """Start another turn for a message of the user's, after removing all later messages and cancelling their requests.

    Raise UnknownMessage, HistoryDiffers (it is not a user's message), ChatNotFound, ChatPruned or TurnRunning.
    """
    with transaction.atomic():
        locked = _lock_to_cut(chat, by)
        _cut(locked, _shown(locked, message_id, "user").position + 1, by=by, via=via)
        return start_turn(locked, "", agent, source=_source(via), trace=trace)


def _lock_to_cut(chat: Chat, by: Actor) -> Chat:
    """Lock the chat's unfinished turn, which may have to be stopped, and then the chat, in the order of a turn's end."""
    if (current := queries.unfinished_turn(chat)) is not None:
        with in_line(("turn", current.pk)):
            Turn.objects.select_for_update(no_key=True).get(pk=current.pk)
    return _lock(chat, by)


def _lock(chat: Chat, by: Actor) -> Chat:
    if chat.owner_id != by.pk:
        raise ChatNotFound
    if chat.root_id is not None:
        raise BadMessage(
            _(
                "Only an agent can write in this conversation. Write in the chat that started it."
            )
        )
    with in_line(("chat", chat.pk)):
        locked = (
            Chat.objects.select_for_update(of=("self",), no_key=True)
            .select_related("owner")
            .get(pk=chat.pk)
        )
    if locked.pruned_at is not None:
        raise ChatPruned
    _remember_maker(locked, by)
    return locked


def _remember_maker(chat: Chat, by: Actor) -> None:
    """Store the creator of the key that writes in a chat, if that is someone other than its owner."""
    maker = by.key.maker_id if isinstance(by, KeyActor) else None
    if maker is not None and maker != chat.key_made_by_id:
        chat.key_made_by_id = maker
        chat.save(update_fields=["key_made_by_id"])


def _check_texts(texts: Sequence[str], files: Sequence[SentFile]) -> None:
    length = sum(map(len, texts))
    if not (files or any(text.strip() for text in texts)) or length > MAX_TEXT:
        raise BadMessage(
            _("A message must have 1 to %(limit)s characters. This one has %(length)s.")
            % {"limit": grouped(MAX_TEXT), "length": grouped(length)}
        )


def _begin(
    chat: Chat,
    message_id: str,
    texts: Sequence[str],
    agent: Agent,
    via: Door,
    context: JsonMapping | None,
    files: Sequence[SentFile],
    *,
    metadata: Any = None,
    first: bool = False,
    trace: Mapping[str, str] | None = None,
) -> Turn:
    parts = projection.user_parts(texts, context, store_files(chat, files))
    message = rows.MESSAGE.of_row(
        chat_id=chat.pk,
        message_id=message_id,
        role="user",
        parts=parts,
        metadata=metadata,
    )
    known = _opened_with(parts) if first and not files else None
    title = " ".join(texts) or parts[0].get("filename", "")
    return start_turn(
        chat,
        title,
        agent,
        source=_source(via),
        known=known,
        new=first,
        also=[message],
        trace=trace,
    )


def _opened_with(parts: list[JsonDict]) -> Progress:
    """Return what is before the turn that answers the first message of a new chat."""
    texts = [("user", projection.text_with_files(parts))]
    return Progress(
        before=[conversations.user_message(parts, {})], alone=True, texts_before=texts
    )


def _source(via: Door) -> str:
    return CEDAR if via == Door.CEDAR else CHAT


def _shown(chat: Chat, message_id: str, role: str) -> Message:
    message = chat.shown.filter(message_id=message_id).first()
    if message is None:
        raise UnknownMessage
    if message.role != role:
        raise HistoryDiffers
    return message


def _cut(chat: Chat, position: int, *, by: Actor, via: Door) -> None:
    """Remove the messages from `position` on from the conversation. Raise TurnRunning."""
    # No request may stay pending without the message that led to it.
    _stop_suspended(chat, by=by, via=via)
    chat.shown.filter(position__gte=position).update(cut_at=timezone.now())


def _stop_suspended(chat: Chat, *, by: Actor, via: Door) -> None:
    """Stop the chat's turn if it is suspended, and cancel its requests. Raise TurnRunning if it runs."""
    current = queries.unfinished_turn(chat)
    if current is None:
        return
    if current.state != TurnState.SUSPENDED:
        raise TurnRunning
    stop_turn(chat, by=by, via=via)


def _refuse_unfinished(chat: Chat) -> None:
    """Raise ApprovalPending or TurnRunning if the chat's last turn has not ended."""
    current = queries.unfinished_turn(chat)
    if current is None:
        return
    waiting = queries.open_requests(current)
    raise (
        ApprovalPending(waiting)
        if current.state == TurnState.SUSPENDED and waiting
        else TurnRunning
    )


def _answer_open_question(
    turn: Turn, text: str, by: Actor, via: Door, answers: str | None
) -> ApprovalRequest:
    """Answer the turn's only pending request, if it is a question that takes text and has no options.

    Raise ApprovalPending for any other requests, TurnRunning without one, QuestionChanged if `answers` names another.
    """
    if turn.state != TurnState.SUSPENDED:
        raise TurnRunning
    waiting = queries.open_requests(turn)
    question = queries.question_for_message(standing_of(by), waiting)
    if question is None:
        raise ApprovalPending(waiting) if waiting else TurnRunning
    if answers not in {None, str(question.pk)}:
        raise QuestionChanged
    desk.decide(question.pk, Answer(Verdict.RESPOND, answer=text), by=by, via=via)
    return question
