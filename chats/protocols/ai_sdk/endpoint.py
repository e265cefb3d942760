"""Endpoints for AI SDK chat clients (`useChat` and others): post messages, follow the answer, read the chat.

A connection only follows a turn; closing it does not stop the turn. A client's copy of the chat never overwrites the stored one.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from approvals.access.callers import Caller
from approvals.api.bodies import json_body
from approvals.api.frame import CONFINED, endpoint
from approvals.db import pool
from approvals.json_types import JsonDict, JsonMapping
from approvals.live import sse
from approvals.live.streaming import streamed_response
from approvals.models import ApprovalRequest
from approvals.queries.policy.votes.ballots import progress_of
from approvals.states import Door
from chats import actions, queries
from chats.actions.answering import AnsweredTurn
from chats.agent import events
from chats.engine import streams
from chats.exceptions import ChatNotFound, HistoryDiffers
from chats.models import Chat, Turn
from chats.protocols.ai_sdk import body as ai_sdk_body
from chats.protocols.ai_sdk.body import Posted
from chats.protocols.ai_sdk.encode import (
    DONE,
    HEADERS,
    Chunk,
    MessageStream,
    correction,
    frames,
    votes,
)
from chats.protocols.ai_sdk.waiting import respond_when_changed, seconds_to_wait
from chats.protocols.callers import chat_for, confine, own_chat
from chats.queries.agents import agent_named
from chats.queries.projection import tool_part
from chats.queries.values import with_words
from chats.states import TurnState

#: Clients send the whole conversation each time, so the body may be large. New messages have the usual limits.
MAX_BODY = 8_000_000
MAX_BODY_VALUES = 200_000
#: How many of the last messages a read returns.
MESSAGES = 500

VIA = Door.AI_SDK


@endpoint("POST", "ask", tokens=CONFINED, counts=True)
def post(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Accept a message, an edit, a regeneration or answers, and stream the response."""
    posted = ai_sdk_body.read(
        json_body(request, max_bytes=MAX_BODY, max_values=MAX_BODY_VALUES)
    )
    confine(caller, posted.chat_id)
    if posted.answers is not None:
        caller.require("decide")
        parts = ai_sdk_body.tool_parts(posted.answers)
        taken = actions.take_answers(
            posted.chat_id, posted.answers["id"], parts, by=caller.actor, via=VIA
        )
        return _stream(
            request, taken.turn, taken.after, opening=_corrections(taken, parts)
        )
    return _stream(request, _begin(caller, posted), 0)


def _begin(caller: Caller, posted: Posted) -> Turn:
    """Return the new turn that a message, an edit or a regeneration starts."""
    if posted.regenerate:
        chat = own_chat(caller, posted.chat_id)
        if posted.last["role"] != "user" or not queries.is_known_message_id(
            chat, posted.message_id
        ):
            raise HistoryDiffers
        return actions.answer_again(
            chat,
            posted.last["id"],
            by=caller.actor,
            agent=agent_named(chat.agent),
            via=VIA,
            trace=caller.trace,
        )
    texts = ai_sdk_body.texts(posted.last)
    files = ai_sdk_body.files(posted.last)
    metadata = ai_sdk_body.metadata(posted.last)
    with transaction.atomic():  # a refused message leaves no empty chat behind
        chat, created = chat_for(caller, posted.chat_id, posted.agent, " ".join(texts))
        return actions.add_user_message(
            chat,
            posted.last["id"],
            texts,
            by=caller.actor,
            agent=agent_named(chat.agent),
            via=VIA,
            in_place_of=posted.message_id,
            files=files,
            metadata=metadata,
            new=created,
            trace=caller.trace,
        )


@endpoint("GET", "read", tokens=CONFINED)
def read(request: HttpRequest, caller: Caller, public_id: str) -> HttpResponse:
    """Return the stored chat up to the last committed step: `{messages, status, pending}`.

    With `?wait=SECONDS`, respond when it differs from the copy named in `If-None-Match`, or else from its current state.
    """
    seconds = seconds_to_wait(request)
    chat = own_chat(caller, public_id)
    response = _document(chat)
    answer = _conditional(request, response)
    if not seconds or ("If-None-Match" in request.headers and answer is response):
        return answer
    seen = response.headers["ETag"]
    return respond_when_changed(
        request,
        chat.pk,
        seconds,
        seen,
        lambda caller: _document(own_chat(caller, public_id)),
        _conditional,
    )


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Return the response, or 304 if the client has a copy of it. Clients poll with the ETag of their copy."""
    answer = get_conditional_response(
        request, etag=response.headers["ETag"], response=response
    )
    return response if answer is None else answer


def _document(chat: Chat) -> HttpResponse:
    messages = [
        {
            "id": message.message_id,
            "role": message.role,
            "parts": [with_words(part) for part in message.parts],
        }
        | ({} if message.metadata is None else {"metadata": message.metadata})
        for message in queries.last_messages(chat, limit=MESSAGES)
    ]
    turn = queries.last_turn(chat)
    waiting = (
        queries.open_requests(turn) if turn is not None and turn.unfinished else []
    )
    progress = progress_of(waiting)
    body = {
        "messages": messages,
        "status": _status(turn),
        "pending": [
            _pending(approval_request, progress.get(approval_request.pk))
            for approval_request in waiting
        ],
    }
    response = JsonResponse(body, headers={"Cache-Control": "private, no-cache"})
    response.headers["ETag"] = quote_etag(hashlib.sha256(response.content).hexdigest())
    return response


@endpoint("GET", "read", tokens=CONFINED)
def resume(request: HttpRequest, caller: Caller, public_id: str) -> HttpResponse:
    """Stream a running turn: the stored part of its message, which a client builds from scratch, and later events.

    Respond with 204 if no turn runs.
    """
    try:
        running = queries.running_message(own_chat(caller, public_id))
    except ChatNotFound:
        running = None
    if running is None:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    turn, parts, after = running
    return _stream(request, turn, after, stored=parts)


@endpoint("POST", "ask", tokens=CONFINED)
def stop(request: HttpRequest, caller: Caller, public_id: str) -> HttpResponse:
    """Stop the chat's turn; `{"stopped": false}` without one."""
    return JsonResponse(
        {
            "stopped": actions.stop_turn(
                own_chat(caller, public_id), by=caller.actor, via=VIA
            )
        }
    )


def _status(turn: Turn | None) -> str:
    """Return `idle`, `queued`, `running`, `suspended` or `failed`."""
    return (
        turn.state
        if turn is not None and (turn.unfinished or turn.state == TurnState.FAILED)
        else "idle"
    )


def _pending(request: ApprovalRequest, progress: str | None) -> JsonDict:
    """Return a pending request as JSON; `requestId` is the AI SDK's `approvalId`, and the id in Pausepoint's own API.

    `progress` describes its votes; None if one person decides it.
    """
    return {
        "requestId": str(request.pk),
        "kind": request.kind,
        "title": request.title,
        "toolName": request.tool_name,
        "toolCallId": request.tool_call_id,
        "url": request.public_url,
        "deadline": request.deadline_at.isoformat() if request.deadline_at else None,
        "progress": progress,
    }


def _corrections(taken: AnsweredTurn, sent: list[JsonDict]) -> list[Chunk]:
    """Return chunks for calls that differ in the client's copy and that no event will report."""
    closed = (
        [queries.call_view(row) for row in queries.calls_of(taken.turn, taken.closed)]
        if taken.closed
        else []
    )
    stored = {**taken.ended, **{call.tool_call_id: call for call in closed}}
    known = (
        (part, tool_part(stored[part["toolCallId"]]))
        for part in sent
        if part["toolCallId"] in stored
    )
    corrected = [
        chunk for part, now in known if _differ(part, now) for chunk in correction(now)
    ]
    return [
        *corrected,
        *(votes(call_id, progress) for call_id, progress in taken.voted.items()),
    ]


def _differ(sent: JsonMapping, stored: JsonMapping) -> bool:
    names = ("state", "output", "errorText")
    return [sent.get(name) for name in names] != [stored.get(name) for name in names]


def _stream(
    request: HttpRequest,
    turn: Turn,
    after: int,
    *,
    opening: Sequence[Chunk] = (),
    stored: Sequence[JsonDict] = (),
) -> HttpResponse:
    """Stream a turn from its events after `after` on, after the chunks `opening` and the `stored` parts of its message."""
    message = MessageStream(turn.message_id)
    begin = [*message.start(), *opening, *message.restore(stored)]
    pieces = sse.with_keep_alive(_follow(turn, after, message, begin))
    return streamed_response(
        request, pieces, content_type=sse.CONTENT_TYPE, headers=HEADERS
    )


async def _follow(
    turn: Turn, after: int, stream: MessageStream, begin: Sequence[Chunk]
) -> AsyncIterator[bytes]:
    """Yield the chunks `begin`, and then the turn from its events after `after` to its next pause or its end."""
    yield frames(begin)
    async for batch in streams.follow_together(turn.pk, after):
        voted = [
            event
            for _, event in batch
            if isinstance(event, events.ApprovalRequested) and event.votes
        ]
        # Before the end of the batch, which may end the stream: nothing after that is read.
        progress = await pool.retry(_progress, voted) if voted else {}
        if chunks := [
            chunk for _, event in batch for chunk in _encoded(stream, event, progress)
        ]:
            yield frames(chunks)
    if not stream.closed:
        yield frames(await pool.retry(_last_chunks, stream, turn.pk))
    yield DONE


def _encoded(
    stream: MessageStream, event: events.Event, progress: Mapping[str, str]
) -> list[Chunk]:
    """Return the chunks of an event; after a call that several people decide, also the progress of its votes."""
    chunks = stream.encode(event)
    if isinstance(event, events.ApprovalRequested) and event.tool_call_id in progress:
        chunks.append(votes(event.tool_call_id, progress[event.tool_call_id]))
    return chunks


def _progress(voted: Sequence[events.ApprovalRequested]) -> dict[str, str]:
    """Return the progress of the votes on these calls, by toolCallId."""
    calls = {UUID(event.request_id): event.tool_call_id for event in voted}
    words = progress_of(queries.requests_with_ids(calls))
    return {calls[pk]: progress for pk, progress in words.items()}


def _last_chunks(stream: MessageStream, turn_id: int) -> list[Chunk]:
    """Return the last chunks for a turn that ended without a stored final event."""
    turn = Turn.objects.get(pk=turn_id)
    match turn.state:
        case TurnState.STOPPED:
            return stream.abort()
        case TurnState.FAILED:
            return stream.fail(turn.error)
        case _:
            return stream.finish(turn.finish_reason or "other")
