"""Hook endpoints: ask people about a call, answer the agent at once or after the decision, and record the call's result."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.access.tool_lists import Ruling
from approvals.api import requests
from approvals.api.bodies import idempotency_key, json_object, mark_replayed
from approvals.api.frame import Endpoint, invalid_parameter, wait_of
from approvals.api.hooks import answers, reports
from approvals.api.hooks.agents import AGENTS, REPORTS, CodingAgent, HookEvent
from approvals.api.hooks.asks import ask_from
from approvals.api.hooks.bodies import HookCall, parse
from approvals.api.long_poll import read_due_request, respond_when_ended
from approvals.api.outcomes import ReadRequest
from approvals.asking.answers import ABSENT
from approvals.asking.digests import digest_for
from approvals.asking.origins import EqualCalls, Origin
from approvals.record.audit import Subject
from approvals.states import Door, Kind, Status
from approvals.text.numbers import grouped

#: Maximum and default wait of a call in seconds: agents give up on hooks after 600.
MAX_WAIT = 600
DEFAULT_WAIT = 570
#: Lifetime of a call's request in seconds: less than the agent's own limit, so that no one approves an abandoned call.
MAX_EXPIRY = 31 * 86_400
DEFAULT_EXPIRY = 560
DEFER = "defer"
#: Headers with the status and page of the request; absent without a request.
STATUS = "Pausepoint-Status"
PAGE = "Pausepoint-Request"
#: Header that proves that Pausepoint has answered, not another server at the address: without it, a program must not take `{}`
#: for permission.
MARKED = {"Pausepoint-Hook": "1"}

_EXPIRY = re.compile(r"[1-9]\d{0,6}", re.ASCII)


def _endpoint(agent: CodingAgent) -> Endpoint:
    """Return the view that answers the hooks of a coding agent and records the results of its calls."""

    def view(request: HttpRequest, caller: Caller) -> HttpResponse:
        return _answer(request, caller, agent)

    return Endpoint(view, "POST", "ask", headers=MARKED)


def _answer(request: HttpRequest, caller: Caller, agent: CodingAgent) -> HttpResponse:
    call = parse(json_object(request), agent)
    if call.event in REPORTS:
        return _report(call, caller)
    if call.event == HookEvent.USER_PROMPT_SUBMIT:
        return _prompt(call, caller)
    seconds = _parse_wait(request, call)
    expiry = _parse_expiry(request)
    call = replace(call, deferred=seconds is None)
    repeat = idempotency_key(request)
    ruling, pattern = (
        requests.ruling(caller, call.tool) if call.tool else (Ruling.GATED, "")
    )
    if ruling == Ruling.ALLOWED:
        return JsonResponse({})
    call.require_storable_ids()
    if ruling == Ruling.DENIED:
        recorded = call.as_stored()
        message = requests.deny(
            caller, _subject(recorded, caller), recorded.input, pattern, via=Door.REST
        )
        return JsonResponse(answers.denied(call, message))
    call.require_storable()
    calls = _calls(call, caller, repeat)
    origin = Origin(
        scope=caller.scope,
        digest=call.digest,
        thread_id=call.session,
        agent=call.agent.name,
        calls=calls,
    )
    wanted = replace(ask_from(call), deadline_at=_deadline(call, seconds, expiry))
    outcome = requests.ask(caller, wanted, origin)
    respond = partial(_respond, call, calls)
    response = respond_when_ended(
        request,
        caller,
        ReadRequest(outcome.request),
        seconds or 0,
        respond,
        read=read_due_request,
    )
    mark_replayed(response, outcome.replayed)
    return response


def _calls(call: HookCall, caller: Caller, repeat: str | None) -> EqualCalls:
    """Return the identity of the call. `repeat` is the client's id for a call that it may repeat after losing a response."""
    return EqualCalls(
        key=reports.series_of(call),
        named=call.named,
        taker=repeat or uuid4().hex,
        taken_by=f"{call.agent.name}, session {call.session}, {caller.actor.get_username()}",
        by=caller.actor,
        via=Door.REST,
    )


def _report(call: HookCall, caller: Caller) -> HttpResponse:
    """Record the result of an approved call, and tell the model about changes and comments by the person.

    Nothing is recorded for any other call. Raise Invalid, OtherInput or Conflict.
    """
    call.require_storable_ids()
    request = reports.reported_request(call, caller.scope)
    if (
        request is not None
        and request.kind == Kind.APPROVAL
        and request.status == Status.APPROVED
    ):
        call.require_storable()
        output = (
            ABSENT if call.event == HookEvent.POST_TOOL_USE_FAILURE else call.output
        )
        digest = digest_for(request, call.input, request.decision).text
        result = actions.ReportedResult(
            input_digest=digest, output=output, error_text=call.error
        )
        actions.report_result(
            request.pk, result, scope=caller.scope, by=caller.actor, via=Door.REST
        )
        return JsonResponse(answers.told_afterwards(call, request))
    return JsonResponse({})


def _prompt(call: HookCall, caller: Caller) -> HttpResponse:
    """Keep a prompt from the model while the call that ended its session is pending.

    Claude Code sends a prompt given on resuming even if the call is deferred again, and then never asks about that call. The
    call is the last one of the session, because it has ended the process.
    """
    call.require_storable_ids()
    request = queries.latest_of_session(caller.scope, call.session, call.agent.name)
    if request is None or not request.pending:
        return JsonResponse({})
    return JsonResponse(answers.kept_back(call, request))


def _parse_wait(request: HttpRequest, call: HookCall) -> float | None:
    """Return `?wait=` in seconds; None to be deferred. Raise Invalid."""
    if request.GET.get("wait") == DEFER:
        if call.agent.defers and call.event == HookEvent.PRE_TOOL_USE:
            return None
        message = _("%(event)s of %(agent)s cannot be deferred") % {
            "event": call.event,
            "agent": call.agent.name,
        }
        raise invalid_parameter("wait", message)
    error = _("must be a number of seconds from 0 to %(limit)s, or defer") % {
        "limit": MAX_WAIT
    }
    return wait_of(request, limit=MAX_WAIT, default=DEFAULT_WAIT, error=error)


def _parse_expiry(request: HttpRequest) -> int:
    """Return `?expires=` in seconds. Raise Invalid."""
    text = request.GET.get("expires", str(DEFAULT_EXPIRY))
    if _EXPIRY.fullmatch(text) and int(text) <= MAX_EXPIRY:
        return int(text)
    message = _("must be a whole number of seconds from 1 to %(limit)s") % {
        "limit": grouped(MAX_EXPIRY)
    }
    raise invalid_parameter("expires", message)


def _deadline(call: HookCall, seconds: float | None, expiry: int) -> datetime | None:
    """Return the deadline of a call; None for a deferred call or one without an id, which may be asked about again any time."""
    if seconds is None or call.event != HookEvent.PRE_TOOL_USE:
        return None
    return timezone.now() + timedelta(seconds=expiry)


def _subject(call: HookCall, caller: Caller) -> Subject:
    return Subject(
        scope=caller.scope,
        thread_id=call.session,
        agent=call.agent.name,
        tool_name=call.tool,
        tool_call_id=call.key,
    )


def _respond(call: HookCall, calls: EqualCalls, read: ReadRequest) -> HttpResponse:
    request = read.row
    body = answers.deferred if request.pending and call.deferred else answers.answer_of
    # A rejection or an answer goes to all callers that waited; an approval goes to one call.
    if (
        not request.pending
        and not actions.take_decision(request, calls)
        and request.status == Status.APPROVED
    ):
        body = answers.taken
    return JsonResponse(
        body(call, request),
        headers={STATUS: str(request.status), PAGE: request.public_url},
    )


#: The view of each agent, by the last part of its address.
VIEWS = {agent.path: _endpoint(agent) for agent in AGENTS}
