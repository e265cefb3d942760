"""Endpoints for Cedar-OS front ends (npm cedar-os, provider `mastra`): send a message; resume, list and cancel runs.

To Cedar, each pending request is a run of its own: the runId is the request's id. Only the caller's key determines their rights.
A connection only follows a turn; closing it does not stop the turn.
"""

from __future__ import annotations

from uuid import UUID, uuid4

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _

from approvals import actions as desk
from approvals.access import permissions
from approvals.access.callers import Caller
from approvals.actions.checking import too_late
from approvals.api.bodies import json_object
from approvals.api.frame import CONFINED, endpoint, own_thread, reaches
from approvals.exceptions import CriticalElsewhere, Invalid, NotFound, Refusal
from approvals.models import Decision
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.states import Door, Kind
from chats import actions, queries
from chats.exceptions import ChatNotFound
from chats.models import Chat, Turn
from chats.protocols.callers import chat_for, confine, own_chat
from chats.protocols.cedar import body as cedar_body
from chats.protocols.cedar import encode, runs
from chats.protocols.cedar.body import Cancellation, Listing, Prompt, Resume
from chats.protocols.cedar.following import Reply, document, stream, suspensions
from chats.protocols.cedar.runs import AskedCall
from chats.queries.agents import agent_named
from chats.states import TurnState

VIA = Door.CEDAR


def refusal_as_stream(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return a refusal as a line in the chat, because Cedar shows nothing of an error response to a stream."""
    errors = refusal.errors if isinstance(refusal, Invalid) else None
    content = encode.frame(encode.error_line(str(refusal), errors)) + encode.DONE
    return HttpResponse(
        content, content_type=encode.CONTENT_TYPE, headers=encode.HEADERS
    )


@endpoint("POST", "ask", tokens=CONFINED, counts=True)
def chat(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Accept a message; return `{text, object?, id, threadId}` once the turn rests."""
    return document(request, _post(request, caller))


@endpoint("POST", "ask", tokens=CONFINED, counts=True, refuse=refusal_as_stream)
def chat_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Accept a message and stream the answer."""
    return stream(request, _post(request, caller))


@endpoint("POST", "decide", tokens=CONFINED)
def resume(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Accept an answer to a run; return the agent's response as one document."""
    return document(request, _resume(request, caller))


@endpoint("POST", "decide", tokens=CONFINED, refuse=refusal_as_stream)
def resume_stream(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Accept an answer to a run and stream the agent's response."""
    return stream(request, _resume(request, caller))


@endpoint("GET", "read", tokens=CONFINED)
def suspended(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Return the pending runs, oldest first, for a reloaded page: `{object: [humanInTheLoop...]}`."""
    thread = Listing.read(
        {"threadId": request.GET.get("threadId", "") or own_thread(caller)}
    ).thread_id
    confine(caller, thread)
    pending = runs.pending_runs(caller.standing, thread=thread)
    return JsonResponse(
        {"object": suspensions(request, pending)}, headers={"Cache-Control": "no-store"}
    )


@endpoint("POST", "ask", tokens=CONFINED)
def cancel(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Cancel a run's request: `{runId, cancelled: true}`. The agent continues without an answer."""
    run = _run(caller, Cancellation.read(json_object(request)).run_id)
    if not run.request.pending:
        raise too_late(run.request.decision)
    desk.cancel(run.request.pk, by=caller.actor, via=VIA)
    return JsonResponse({"runId": str(run.request.pk), "cancelled": True})


def _post(request: HttpRequest, caller: Caller) -> Reply:
    prompt = Prompt.read(json_object(request))
    thread = prompt.thread_id or own_thread(caller)
    try:
        chat = own_chat(caller, thread) if thread else None
    except ChatNotFound:
        chat = None
    if chat is None:
        with transaction.atomic():  # a refused message leaves no empty chat behind
            return Reply(
                _begin(caller, chat_for(caller, thread, prompt.agent)[0], prompt)
            )
    chat, _created = chat_for(caller, thread, prompt.agent)
    waiting = queries.unfinished_turn(chat)
    after = queries.last_seq(waiting) if waiting is not None else 0
    turn = _begin(caller, chat, prompt)
    return Reply(turn, after if waiting is not None and turn.pk == waiting.pk else 0)


def _begin(caller: Caller, chat: Chat, prompt: Prompt) -> Turn:
    """Return the turn that a message starts, or whose pending question it answers."""
    context = prompt.context
    agent = agent_named(chat.agent)
    if "decide" in caller.scopes:
        arrival = actions.post_message(
            chat,
            prompt.prompt,
            by=caller.actor,
            agent=agent,
            via=VIA,
            context=context,
            trace=caller.trace,
        )
        return arrival.turn
    # This key may not answer, so a message is refused while a question is pending.
    return actions.add_user_message(
        chat,
        uuid4().hex,
        [prompt.prompt],
        by=caller.actor,
        agent=agent,
        via=VIA,
        context=context,
        trace=caller.trace,
    )


def _resume(request: HttpRequest, caller: Caller) -> Reply:
    sent = Resume.read(json_object(request))
    run = _run(caller, sent.run_id)
    cedar_body.check_path(sent.step_path, run.path)
    approval_request = run.request
    if not approval_request.pending:
        raise too_late(approval_request.decision)
    if permissions.only_on_own_pages(approval_request):
        # Refuse before reading the answer, because no answer is accepted here.
        raise CriticalElsewhere(approval_request)
    answer = cedar_body.answer_from(
        Kind(approval_request.kind), approval_request.response_schema, sent.data
    )
    turn = run.call.turn.top
    # A turn writes nothing while its request is pending, so the client has seen all stored events.
    after = queries.last_seq(turn)
    try:
        outcome = desk.decide(approval_request.pk, answer, by=caller.actor, via=VIA)
    except Invalid as refusal:
        raise cedar_body.with_client_fields(refusal) from refusal
    if outcome.decision is None:
        ballot = ballot_of(outcome.request)
        progress = ballot.words if ballot is not None else ""
        return Reply(
            None,
            opening=[
                encode.notice(
                    f"Your vote is counted: {progress}. Others have to decide too."
                )
            ],
        )
    if outcome.replayed:
        raise too_late(outcome.decision)
    # The signal after a decision may have been lost.
    actions.resume_turn(turn.pk)
    return _reply_after(caller, turn, after, outcome.decision)


def _reply_after(caller: Caller, turn: Turn, after: int, decision: Decision) -> Reply:
    """Return the reply to a client after its decision.

    Of several requests asked at once, only the last decision follows the turn, so that a chat shows nothing twice.
    """
    if not runs.may_follow(caller.standing, turn.chat):
        return Reply(None, opening=[encode.notice("Recorded.")])
    waiting = runs.still_pending(decision)
    turn.refresh_from_db(fields=["state"])
    if waiting and turn.state == TurnState.SUSPENDED:
        names = "; ".join(f"“{request.title}”" for request in waiting)
        return Reply(
            None,
            opening=[
                encode.notice(f"Recorded. The agent is still waiting for: {names}.")
            ],
        )
    if not waiting and not runs.was_last(decision):
        return Reply(
            None,
            opening=[
                encode.notice("Recorded. The agent continues with the other answer.")
            ],
        )
    # A sub-agent may continue while others still wait.
    return Reply(turn, after, known=frozenset(request.pk for request in waiting))


def _run(caller: Caller, run_id: UUID) -> AskedCall:
    run = runs.run_for(caller.standing, run_id)
    chat = run.call.turn.top.chat
    if not reaches(caller, chat.public_id, owner=chat.owner_id):
        raise NotFound(
            _("Run not found. It may not exist, or you may not have access.")
        )
    return run
