"""Follow a turn for a Cedar-OS client: as a stream, or as one document once the turn rests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from approvals.db import pool
from approvals.live import sse
from approvals.live.streaming import deferred_response, streamed_response
from approvals.queries.policy.votes.ballots import progress_of
from approvals.states import Kind
from chats import actions, queries
from chats.engine import streams
from chats.models import Turn
from chats.protocols.cedar import encode, runs
from chats.protocols.cedar.encode import AnswerStream, Payload, Suspension
from chats.protocols.cedar.runs import AskedCall
from chats.states import TurnState


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply to a client: `opening`, then a turn from its events after `after`; without a turn only `opening`.

    `known` are ids of pending requests that the client already knows.
    """

    turn: Turn | None
    after: int = 0
    opening: Sequence[Payload] = ()
    known: frozenset[UUID] = frozenset()


def document(request: HttpRequest, reply: Reply) -> HttpResponse:
    async def later() -> HttpResponse:
        body = encode.answer([payload async for payload in _payloads(request, reply)])
        if reply.turn is not None:
            body |= {"id": reply.turn.message_id, "threadId": reply.turn.chat.public_id}
        return JsonResponse(body)

    return deferred_response(request, later)


def stream(request: HttpRequest, reply: Reply) -> HttpResponse:
    async def frames() -> AsyncIterator[bytes]:
        async for payload in _payloads(request, reply):
            yield encode.frame(payload)
        yield encode.DONE

    pieces = sse.with_keep_alive(frames())
    return streamed_response(
        request, pieces, content_type=encode.CONTENT_TYPE, headers=encode.HEADERS
    )


async def _payloads(request: HttpRequest, reply: Reply) -> AsyncIterator[Payload]:
    """Yield the whole reply, up to the turn's next pause or its end."""
    for payload in reply.opening:
        yield payload
    if reply.turn is None:
        return
    answer = AnswerStream()
    seen = reply.after
    rest: list[Payload] | None = None
    while rest is None:
        async for number, event in streams.follow(reply.turn.pk, seen):
            seen = number
            for payload in answer.encode(event):
                yield payload
        # None means that the turn already continues, because someone decided at once.
        rest = await pool.retry(_last_payloads, request, reply, answer)
    for payload in rest:
        yield payload


def _last_payloads(
    request: HttpRequest, reply: Reply, answer: AnswerStream
) -> list[Payload] | None:
    """Return the last payloads of a turn at rest; None if it continues."""
    assert reply.turn is not None
    turn = Turn.objects.get(pk=reply.turn.pk)
    match turn.state:
        case TurnState.SUSPENDED:
            waiting = queries.open_requests(turn)
            if not waiting and actions.resume_turn(turn.pk):
                return None
            unseen = [
                waiting_request
                for waiting_request in waiting
                if waiting_request.pk not in reply.known
            ]
            return suspensions(request, runs.runs_of(unseen))
        case TurnState.QUEUED | TurnState.RUNNING:
            return None
        case TurnState.STOPPED if not answer.closed:
            return [encode.error_line(encode.STOPPED)]
        case TurnState.FAILED if not answer.closed:
            return [encode.error_line(turn.error)]
        case _:
            return []


def suspensions(request: HttpRequest, pending: Sequence[AskedCall]) -> list[Payload]:
    """Return the `humanInTheLoop` objects of pending runs whose deadline has not passed."""
    now = timezone.now()
    # The sweep expires overdue requests within a second; no one can answer them then.
    live = [
        run
        for run in pending
        if run.request.deadline_at is None or run.request.deadline_at > now
    ]
    progress = progress_of(run.request for run in live)
    suspended = [
        _suspension(request, run, progress.get(run.request.pk)) for run in live
    ]
    return [encode.human_in_the_loop(suspension, now=now) for suspension in suspended]


def _suspension(
    request: HttpRequest, run: AskedCall, progress: str | None
) -> Suspension:
    approval_request = run.request
    return Suspension(
        run_id=str(approval_request.pk),
        step_path=run.path,
        kind=approval_request.kind,
        title=approval_request.title,
        message=approval_request.message,
        tool_name=approval_request.tool_name,
        input=approval_request.input,
        response_schema=approval_request.response_schema,
        text=run.text,
        priority=approval_request.priority,
        url=approval_request.public_url,
        thread_id=approval_request.workflow.thread_id,
        workflow_id=approval_request.workflow.key,
        asked_at=approval_request.created_at,
        deadline_at=approval_request.deadline_at,
        approves=approval_request.kind in {Kind.APPROVAL, Kind.RECOVERY},
        progress=progress,
    )
