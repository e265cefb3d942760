"""The hooks' endpoints: ask people about a call and answer the agent, at once or when they have decided; record what it did."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.access.tool_lists import Ruling, lists_from
from approvals.api.bodies import idempotency_key, json_object, mark_replayed
from approvals.api.hooks import answers
from approvals.api.hooks.agents import CLAUDE_CODE, CODEX, REPORTS, Agent, Event
from approvals.api.hooks.asks import ask_from
from approvals.api.hooks.bodies import HookCall, parse
from approvals.api.long_poll import respond_when_ended
from approvals.asking.answers import ABSENT
from approvals.asking.origins import EqualCalls, Origin, key_of_calls
from approvals.db.canonical_json import digest
from approvals.exceptions import Invalid, NotAllowed
from approvals.http import endpoint
from approvals.models import ApprovalRequest
from approvals.record.audit import Subject
from approvals.states import Door, Kind, Status

#: Seconds that one call may wait, and does by default: agents give up their hooks after 600.
MAX_WAIT, DEFAULT_WAIT = 600, 570
#: Seconds after which a call that someone waits for expires: before the agent gives up, so that no one approves what is gone.
MAX_EXPIRY, DEFAULT_EXPIRY = 31 * 86_400, 560
DEFER = "defer"
#: The status and the page of the request that an answer is about; without a request, there is neither.
STATUS, PAGE = "Pausepoint-Status", "Pausepoint-Request"
#: The header by which a client knows that Pausepoint has answered, and not whatever else listens at the address.
MARK = "Pausepoint-Hook"

_WAIT = re.compile(r"\d{1,4}(\.\d{1,3})?", re.ASCII)
_EXPIRY = re.compile(r"[1-9]\d{0,6}", re.ASCII)


def _marked(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Mark every answer as one of Pausepoint: a program that finds no mark must not take `{}` for permission."""

    @wraps(view)
    def marked(request: HttpRequest) -> HttpResponse:
        response = view(request)
        response.headers[MARK] = "1"
        return response

    return marked


@_marked
@endpoint("POST")
def claude_code(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Answer a hook of Claude Code: PreToolUse, PermissionRequest and Elicitation, and the reports of what has run."""
    return _answer(request, caller, CLAUDE_CODE)


@_marked
@endpoint("POST")
def codex(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Answer a hook of Codex: PreToolUse and PermissionRequest, and the report of what has run."""
    return _answer(request, caller, CODEX)


def _answer(request: HttpRequest, caller: Caller, agent: Agent) -> HttpResponse:
    caller.require("ask")
    if caller.thread is not None:
        raise NotAllowed(_("A client token only works for its own chat. Use an API key."))
    call = parse(json_object(request), agent)
    if call.event in REPORTS:
        return _report(call, caller)
    seconds, expiry = _parse_wait(request, call), _parse_expiry(request)
    call, repeat = replace(call, deferred=seconds is None), idempotency_key(request)
    if call.tool:
        ruling, pattern = lists_from(caller.key.tool_lists if caller.key else None).ruling(call.tool)
        if ruling == Ruling.ALLOWED:
            return JsonResponse({})
        if ruling == Ruling.DENIED:
            caller.count_ask()
            actions.record_denied_call(_subject(call, caller), call.input, pattern, by=caller.actor, via=Door.REST)
            return JsonResponse(answers.denied(call, answers.denied_words(call.tool)))
    caller.count_ask()
    calls = _calls(call, caller, repeat)
    origin = Origin(scope=caller.scope, digest=call.digest, thread_id=call.session, agent=call.agent.name, calls=calls)
    ask = replace(ask_from(call), deadline_at=_deadline(call, seconds, expiry))
    asked = actions.ask_for_client(ask, origin, by=caller.actor)
    response = _respond(request, call, calls, asked.request, seconds)
    mark_replayed(response, asked.replayed)
    return response


def _calls(call: HookCall, caller: Caller, repeat: str | None) -> EqualCalls:
    """Return what the call is recognized by. `repeat` is what a client calls it that may lose a response and call again."""
    return EqualCalls(
        key=_key(call),
        named=call.named,
        taker=repeat or uuid4().hex,
        taken_by=f"{call.agent.name}, session {call.session}, {caller.actor.get_username()}",
        by=caller.actor,
        via=Door.REST,
    )


def _key(call: HookCall) -> str:
    return key_of_calls("hook", call.agent.name, call.key)


def _report(call: HookCall, caller: Caller) -> HttpResponse:
    """Record what an approved call has done, and tell the model what a person has changed and said about it.

    Of any other call nothing is recorded. Raises OtherInput and Conflict.
    """
    asked = _reported(call, caller)
    if asked is not None and asked.kind == Kind.APPROVAL and asked.status == Status.APPROVED:
        output = ABSENT if call.event == Event.POST_TOOL_USE_FAILURE else call.output
        result = actions.Result(input_digest=digest(dict(call.input)), output=output, error_text=call.error)
        actions.report_result(asked.pk, result, scope=caller.scope, by=caller.actor, via=Door.REST)
        return JsonResponse(answers.told_afterwards(call, asked))
    return JsonResponse({})


def _reported(call: HookCall, caller: Caller) -> ApprovalRequest | None:
    # The report does not say whether the call was deferred.
    ways = (call, replace(call, deferred=True))
    in_series = (queries.latest_of_calls(caller.scope, _key(way)) for way in ways)
    # From before equal calls had a key.
    older = (queries.find_call(caller.scope, way.key) for way in ways)
    return next(filter(None, in_series), None) or next(
        (request for request in older if request is not None and request.idempotency_key is None), None
    )


def _parse_wait(request: HttpRequest, call: HookCall) -> float | None:
    """Return `?wait=` in seconds; None to be deferred. Raises Invalid."""
    text = request.GET.get("wait", str(DEFAULT_WAIT))
    if text == DEFER:
        if call.agent.defers and call.event == Event.PRE_TOOL_USE:
            return None
        words = _("%(event)s of %(agent)s cannot be deferred") % {"event": call.event, "agent": call.agent.name}
    elif _WAIT.fullmatch(text) and float(text) <= MAX_WAIT:
        return float(text)
    else:
        words = _("must be a number of seconds from 0 to %(limit)s, or defer") % {"limit": MAX_WAIT}
    raise Invalid(_("The `wait` parameter is invalid."), {"wait": words})


def _parse_expiry(request: HttpRequest) -> int:
    """Return `?expires=` in seconds. Raises Invalid."""
    text = request.GET.get("expires", str(DEFAULT_EXPIRY))
    if _EXPIRY.fullmatch(text) and int(text) <= MAX_EXPIRY:
        return int(text)
    words = _("must be a whole number of seconds from 1 to %(limit)s") % {"limit": f"{MAX_EXPIRY:,}"}
    raise Invalid(_("The `expires` parameter is invalid."), {"expires": words})


def _deadline(call: HookCall, seconds: float | None, expiry: int) -> datetime | None:
    """Return when a call expires. One that is deferred, or that has no id of its own, may be asked about again at any time."""
    if seconds is None or call.event != Event.PRE_TOOL_USE:
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


def _respond(
    request: HttpRequest, call: HookCall, calls: EqualCalls, asked: ApprovalRequest, seconds: float | None
) -> HttpResponse:
    if not asked.pending or not seconds:
        return _respond_now(call, calls, asked)
    return respond_when_ended(request, asked.pk, seconds, lambda caller: _respond_later(call, calls, caller, asked.pk))


def _respond_later(call: HookCall, calls: EqualCalls, caller: Caller, request_id: UUID) -> HttpResponse:
    asked = queries.get_request_for(caller.user, request_id)
    # The sweep may come a moment later than the last moment of the wait.
    if asked.pending and actions.expire(request_id):
        asked = queries.get_request_for(caller.user, request_id)
    return _respond_now(call, calls, asked)


def _respond_now(call: HookCall, calls: EqualCalls, asked: ApprovalRequest) -> HttpResponse:
    return JsonResponse(_body(call, calls, asked), headers={STATUS: asked.status, PAGE: asked.public_url})


def _body(call: HookCall, calls: EqualCalls, asked: ApprovalRequest) -> answers.Answer:
    if asked.pending:
        return answers.deferred(call, asked) if call.deferred else answers.answer_of(call, asked)
    # A no, and an answer, may be told to all who have waited; a yes is for one call.
    if not actions.take_decision(asked, calls) and asked.status == Status.APPROVED:
        return answers.taken(call, asked)
    return answers.answer_of(call, asked)
