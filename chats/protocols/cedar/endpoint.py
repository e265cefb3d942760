"""Cedar-OS front ends (npm cedar-os, provider `mastra`): say something, resume what waits, see what waits, cancel it.

Each open request is a run of its own to Cedar: the runId is the request's id, and who may do what with it is decided by
the key alone. A connection only follows; it neither drives nor holds a turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from uuid import UUID, uuid4

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.api.bodies import json_object
from approvals.exceptions import AlreadyDecided, CriticalElsewhere, Expired, Invalid, NotFound, Refusal
from approvals.http import endpoint
from approvals.models import Decision
from approvals.states import Door, Kind, Verdict
from chats import actions, queries
from chats.exceptions import ChatNotFound
from chats.models import Chat, Turn
from chats.protocols.callers import chat_for, own_chat
from chats.protocols.cedar import body as cedar_body
from chats.protocols.cedar import encode, runs
from chats.protocols.cedar.body import Said
from chats.protocols.cedar.runs import Run
from chats.protocols.cedar.telling import Telling, document, stream, suspensions
from chats.queries.agents import agent_named
from chats.states import TurnState

VIA = Door.CEDAR


View = Callable[[HttpRequest, Caller], HttpResponse]


def refusals_as_streams(view: View) -> View:
    """A refusal becomes a line in the chat: of an error on a stream, Cedar shows nothing at all."""

    @wraps(view)
    def wrapped(request: HttpRequest, caller: Caller) -> HttpResponse:
        try:
            return view(request, caller)
        except Refusal as refusal:
            errors = refusal.errors if isinstance(refusal, Invalid) else None
            content = encode.frame(encode.refused(str(refusal), errors)) + encode.DONE
            return HttpResponse(content, content_type=encode.CONTENT_TYPE, headers=encode.HEADERS)

    return wrapped


@endpoint("POST")
def chat(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A message; `{text, object?, id, threadId}` once the assistant waits or is done."""
    return document(request, _say(request, caller))


@endpoint("POST")
@refusals_as_streams
def chat_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A message; what comes of it streams back."""
    return stream(request, _say(request, caller))


@endpoint("POST")
def resume(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A word on a run; what the assistant goes on with, as one document."""
    return document(request, _resume(request, caller))


@endpoint("POST")
@refusals_as_streams
def resume_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A word on a run; what the assistant goes on with streams back, and nothing that was said before."""
    return stream(request, _resume(request, caller))


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
    return JsonResponse({"object": suspensions(request, found)}, headers={"Cache-Control": "no-store"})


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
    if permissions.only_on_own_pages(asked):
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
        return Telling(None, opening=[encode.noted("Recorded.")])
    waiting = runs.still_open(decision)
    turn.refresh_from_db(fields=["state"])
    if waiting and turn.state == TurnState.SUSPENDED:
        names = "; ".join(f"“{asked.title}”" for asked in waiting)
        return Telling(None, opening=[encode.noted(f"Recorded. The assistant still waits for: {names}.")])
    if not waiting and not runs.ended_last(decision):
        return Telling(None, opening=[encode.noted("Recorded. The assistant goes on with the other answer.")])
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
