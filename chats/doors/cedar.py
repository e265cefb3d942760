"""Cedar-OS front ends (npm cedar-os, provider `mastra`): say something, resume what waits, see what waits, cancel it.

Each open request is a run of its own to Cedar: the runId is the request's id, and who may do what with it is decided by
the key alone. A connection only follows; it neither drives nor holds a turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from uuid import UUID, uuid4

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals import auth, dbpool
from approvals.bodies import json_object
from approvals.exceptions import AlreadyDecided, CriticalElsewhere, Expired, Invalid, NotFound, Refusal
from approvals.handover import answered_later, handed_over
from approvals.machines import Caller
from approvals.models import Decision
from approvals.states import Door, Kind, Verdict
from approvals.views import endpoint
from approvals.wire import sse
from chats import actions, queries, runs, streams
from chats.doors.callers import chat_for, own_chat
from chats.exceptions import ChatNotFound
from chats.models import Chat, Turn
from chats.runs import Run
from chats.states import TurnState
from chats.views import agent_named
from chats.wire import cedar, cedar_body
from chats.wire.cedar import AnswerStream, Payload, Suspension
from chats.wire.cedar_body import Said

VIA = Door.CEDAR


@dataclass(frozen=True, slots=True)
class Telling:
    """What a client is told: `opening`, then a turn from its event behind `after`; no turn where it goes on elsewhere.

    `known` are requests that it was told of before, and that wait still.
    """

    turn: Turn | None
    after: int = 0
    opening: Sequence[Payload] = ()
    known: frozenset[UUID] = frozenset()


View = Callable[[HttpRequest, Caller], HttpResponse]


def refusals_as_streams(view: View) -> View:
    """A refusal becomes a line in the chat: of an error on a stream, Cedar shows nothing at all."""

    @wraps(view)
    def wrapped(request: HttpRequest, caller: Caller) -> HttpResponse:
        try:
            return view(request, caller)
        except Refusal as refusal:
            errors = refusal.errors if isinstance(refusal, Invalid) else None
            content = cedar.frame(cedar.refused(str(refusal), errors)) + cedar.DONE
            return HttpResponse(content, content_type=cedar.CONTENT_TYPE, headers=cedar.HEADERS)

    return wrapped


@endpoint("POST")
def chat(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A message; `{text, object?, id, threadId}` once the assistant waits or is done."""
    return _document(request, _say(request, caller))


@endpoint("POST")
@refusals_as_streams
def chat_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A message; what comes of it streams back."""
    return _stream(request, _say(request, caller))


@endpoint("POST")
def resume(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A word on a run; what the assistant goes on with, as one document."""
    return _document(request, _resume(request, caller))


@endpoint("POST")
@refusals_as_streams
def resume_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A word on a run; what the assistant goes on with streams back, and nothing that was said before."""
    return _stream(request, _resume(request, caller))


@endpoint("GET")
def suspended(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What waits: `{object: [humanInTheLoop...]}`, the oldest first, for a page that was loaded anew."""
    caller.need("read")
    thread = request.GET.get("threadId", "") or caller.thread or ""
    if problem := cedar_body.name_problem(thread):
        raise Invalid(_("The thread is invalid."), {"threadId": problem})
    if caller.thread not in {None, thread}:
        raise ChatNotFound
    found = runs.open_runs_of(caller.user, thread=thread)
    return JsonResponse({"object": _suspensions(request, found)}, headers={"Cache-Control": "no-store"})


@endpoint("POST")
def cancel(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Withdraw a run's request: `{runId, cancelled: true}`. The assistant is told, and goes on without an answer."""
    caller.need("ask")
    run = _run(caller, cedar_body.read_run_id(json_object(request)))
    if not run.request.pending:
        raise _too_late(run.request.decision)
    desk.cancel(run.request.pk, by=caller.actor, via=VIA)
    return JsonResponse({"runId": str(run.request.pk), "cancelled": True})


def _say(request: HttpRequest, caller: Caller) -> Telling:
    caller.need("ask")
    caller.count_ask()
    said = cedar_body.read_said(json_object(request))
    thread = said.thread_id or caller.thread or ""
    try:
        found = own_chat(caller, thread) if thread else None
    except ChatNotFound:
        found = None
    if found is None:
        with transaction.atomic():  # a refused message leaves no empty chat behind
            return Telling(_begin(caller, chat_for(caller, thread, said.agent), said))
    found = chat_for(caller, thread, said.agent)
    waiting = queries.unfinished_turn(found)
    after = queries.last_seq(waiting) if waiting is not None else 0
    turn = _begin(caller, found, said)
    return Telling(turn, after if waiting is not None and turn.pk == waiting.pk else 0)


def _begin(caller: Caller, found: Chat, said: Said) -> Turn:
    """The new turn that a message starts, or the one that it answers an open question of."""
    context, agent = said.context, agent_named(found.agent)
    if "decide" in caller.scopes:
        arrival = actions.post_message(found, said.prompt, by=caller.actor, agent=agent, via=VIA, context=context)
        return arrival.turn
    # A key that may not answer: an open question refuses its message, as an approval does.
    return actions.add_user_message(
        found, uuid4().hex, [said.prompt], by=caller.actor, agent=agent, via=VIA, context=context
    )


def _resume(request: HttpRequest, caller: Caller) -> Telling:
    caller.need("decide")
    sent = cedar_body.read_resumed(json_object(request))
    run = _run(caller, sent.run_id)
    cedar_body.check_path(sent.step_path, run.path)
    asked = run.request
    if not asked.pending:
        raise _too_late(asked.decision)
    if auth.only_on_own_pages(asked):
        # Said before the answer is read: whatever it is, it is not taken here.
        raise CriticalElsewhere(asked)
    word = cedar_body.word_on(Kind(asked.kind), asked.response_schema, sent.data)
    turn = run.call.turn.top
    # While the request is open its turn writes nothing: what is stored now, the client has been shown.
    after = queries.last_seq(turn)
    try:
        outcome = desk.decide(
            asked.pk,
            by=caller.actor,
            via=VIA,
            verdict=word.verdict,
            comment=word.comment,
            edited_input=word.edited_input,
            answer=word.answer,
        )
    except Invalid as refusal:
        raise cedar_body.in_the_clients_words(refusal) from refusal
    if outcome.replayed:
        raise AlreadyDecided(outcome.decision)
    # The signal that follows a decision may have been lost.
    actions.resume_turn(turn.pk)
    return _after(caller, turn, after, outcome.decision)


def _after(caller: Caller, turn: Turn, after: int, decision: Decision) -> Telling:
    """Who decided last of what was asked at once follows; so nothing is shown twice in a chat that answered twice."""
    if not runs.may_follow(caller.user, turn.chat):
        return Telling(None, opening=[cedar.noted("Recorded.")])
    waiting = runs.still_open(decision)
    turn.refresh_from_db(fields=["state"])
    if waiting and turn.state == TurnState.SUSPENDED:
        names = "; ".join(f"“{asked.title}”" for asked in waiting)
        return Telling(
            None, opening=[cedar.noted(_("Recorded. The assistant still waits for: %(names)s.") % {"names": names})]
        )
    if not waiting and not runs.ended_last(decision):
        return Telling(None, opening=[cedar.noted(_("Recorded. The assistant goes on with the other answer."))])
    # Where a sub-agent goes on, others may wait still.
    return Telling(turn, after, known=frozenset(asked.pk for asked in waiting))


def _run(caller: Caller, run_id: UUID) -> Run:
    run = runs.run_for(caller.user, run_id)
    chat = run.call.turn.top.chat
    if caller.thread is not None and (chat.owner_id, chat.public_id) != (caller.user.pk, caller.thread):
        raise NotFound(_("Run not found. It may not exist, or you may not have access."))
    return run


def _too_late(decision: Decision) -> Refusal:
    return Expired(decision) if decision.verdict == Verdict.EXPIRE else AlreadyDecided(decision)


def _document(request: HttpRequest, telling: Telling) -> HttpResponse:
    async def later() -> HttpResponse:
        body = cedar.answer([payload async for payload in _told(request, telling)])
        if telling.turn is not None:
            body |= {"id": telling.turn.message_id, "threadId": telling.turn.chat.public_id}
        return JsonResponse(body)

    return answered_later(request, later)


def _stream(request: HttpRequest, telling: Telling) -> HttpResponse:
    async def frames() -> AsyncIterator[bytes]:
        async for payload in _told(request, telling):
            yield cedar.frame(payload)
        yield cedar.DONE

    pieces = sse.kept_alive(frames())
    return handed_over(request, pieces, content_type=cedar.CONTENT_TYPE, headers=cedar.HEADERS)


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
        rest = await dbpool.insist(_rest, request, telling, answer)
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
            return _suspensions(request, runs.runs_of([asked for asked in waiting if asked.pk not in telling.known]))
        case TurnState.QUEUED | TurnState.RUNNING:
            return None
        case TurnState.STOPPED if not answer.closed:
            return [cedar.refused(cedar.STOPPED)]
        case TurnState.FAILED if not answer.closed:
            return [cedar.refused(turn.error)]
        case _:
            return []


def _suspensions(request: HttpRequest, found: Sequence[Run]) -> list[Payload]:
    now = timezone.now()
    # What is overdue is expired by the sweep within a second; nobody can answer it any more.
    live = [run for run in found if run.request.deadline_at is None or run.request.deadline_at > now]
    return [cedar.suspended(_suspension(request, run), now=now) for run in live]


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
