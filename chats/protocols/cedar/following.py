"""Tell a Cedar-OS client what a turn says: as a stream, or as one document once the turn rests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from approvals.live import sse
from approvals.live.streaming import answered_later, handed_over
from approvals.runtime import database
from approvals.states import Kind
from chats import actions, queries
from chats.engine import streams
from chats.models import Turn
from chats.protocols.cedar import encode, runs
from chats.protocols.cedar.encode import AnswerStream, Payload, Suspension
from chats.protocols.cedar.runs import Run
from chats.states import TurnState


@dataclass(frozen=True, slots=True)
class Telling:
    """What a client is told: `opening`, then a turn from its event behind `after`; no turn where it goes on elsewhere.

    `known` are requests that it was told of before, and that wait still.
    """

    turn: Turn | None
    after: int = 0
    opening: Sequence[Payload] = ()
    known: frozenset[UUID] = frozenset()


def document(request: HttpRequest, telling: Telling) -> HttpResponse:
    async def later() -> HttpResponse:
        body = encode.answer([payload async for payload in _told(request, telling)])
        if telling.turn is not None:
            body |= {"id": telling.turn.message_id, "threadId": telling.turn.chat.public_id}
        return JsonResponse(body)

    return answered_later(request, later)


def stream(request: HttpRequest, telling: Telling) -> HttpResponse:
    async def frames() -> AsyncIterator[bytes]:
        async for payload in _told(request, telling):
            yield encode.frame(payload)
        yield encode.DONE

    pieces = sse.kept_alive(frames())
    return handed_over(request, pieces, content_type=encode.CONTENT_TYPE, headers=encode.HEADERS)


async def _told(request: HttpRequest, telling: Telling) -> AsyncIterator[Payload]:
    """All of it, up to the turn's next pause or its end."""
    for payload in telling.opening:
        yield payload
    if telling.turn is None:
        return
    answer, seen = AnswerStream(), telling.after
    rest: list[Payload] | None = None
    while rest is None:
        async for number, event in streams.follow(telling.turn.pk, seen):
            seen = number
            for payload in answer.encode(event):
                yield payload
        # Where somebody was quick on the dashboard, the turn goes on already.
        rest = await database.insist(_rest, request, telling, answer)
    for payload in rest:
        yield payload


def _rest(request: HttpRequest, telling: Telling, answer: AnswerStream) -> list[Payload] | None:
    """What a turn that has come to rest leaves to be told; None if it goes on."""
    assert telling.turn is not None
    turn = Turn.objects.get(pk=telling.turn.pk)
    match turn.state:
        case TurnState.SUSPENDED:
            waiting = queries.open_requests(turn)
            if not waiting and actions.resume_turn(turn.pk):
                return None
            return suspensions(request, runs.runs_of([asked for asked in waiting if asked.pk not in telling.known]))
        case TurnState.QUEUED | TurnState.RUNNING:
            return None
        case TurnState.STOPPED if not answer.closed:
            return [encode.refused(encode.STOPPED)]
        case TurnState.FAILED if not answer.closed:
            return [encode.refused(turn.error)]
        case _:
            return []


def suspensions(request: HttpRequest, found: Sequence[Run]) -> list[Payload]:
    now = timezone.now()
    # What is overdue is expired by the sweep within a second; nobody can answer it any more.
    live = [run for run in found if run.request.deadline_at is None or run.request.deadline_at > now]
    return [encode.suspended(_suspension(request, run), now=now) for run in live]


def _suspension(request: HttpRequest, run: Run) -> Suspension:
    asked = run.request
    return Suspension(
        run_id=str(asked.pk),
        step_path=run.path,
        kind=asked.kind,
        title=asked.title,
        message=asked.message,
        tool_name=asked.tool_name,
        input=asked.input,
        response_schema=asked.response_schema,
        said=run.said,
        priority=asked.priority,
        url=asked.public_url,
        thread_id=asked.workflow.thread_id,
        workflow_id=asked.workflow.key,
        asked_at=asked.created_at,
        deadline_at=asked.deadline_at,
        approves=asked.kind in {Kind.APPROVAL, Kind.RECOVERY},
    )
