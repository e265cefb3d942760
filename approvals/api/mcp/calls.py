"""Call a tool, and wait for a person without holding a thread or a database connection."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext as _
from pydantic import ValidationError

from approvals import actions, queries
from approvals.access.callers import Caller, Credentials, credentials_of
from approvals.api.bodies import without_contents
from approvals.api.long_poll import read_due_request
from approvals.api.mcp import messages, repeats, results
from approvals.api.mcp.arguments import PATIENCE
from approvals.api.mcp.messages import MethodCall, RpcError
from approvals.api.mcp.states import (
    StreamState,
    WaitState,
    decrypt_call,
    decrypt_stream,
    encrypt_call,
    encrypt_stream,
)
from approvals.api.mcp.tools import TOOLS, Tool
from approvals.api.outcomes import for_caller
from approvals.background import waiting_room
from approvals.db import pool
from approvals.db.canonical_json import digest
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.json_types import JsonDict, JsonMapping
from approvals.live import sse
from approvals.live.streaming import streamed_response
from approvals.models import ApprovalRequest
from approvals.states import Status

logger = logging.getLogger(__name__)

#: Seconds that a call waits, and that a repeated call waits: less than the one-minute limit of some clients and proxies.
WAIT = 25.0
ROUND = 45.0
#: Clients repeat a call ten times at most. The last time, they get a final answer instead.
ROUNDS = 9
#: Seconds between keep-alive messages while a call waits, with and without progress.
PROGRESS = 5.0
KEEP_ALIVE = 15.0
#: Milliseconds before a client resumes a broken stream. Clients try twice, so a restart may take twice as long.
RETRY = 5_000
#: The name in `inputRequests` of the link for the person at the client.
LINK = "desk"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """A call that waits for a request."""

    call: MethodCall
    tool: Tool
    request: ApprovalRequest
    credentials: Credentials
    #: The id of the events, with which a client can continue the stream.
    stream_id: str
    state: WaitState | None
    digest: str
    server: Mapping[str, str]

    @property
    def seconds(self) -> float:
        first = PATIENCE if self.tool.patient else WAIT
        return first if self.state is None else ROUND

    @property
    def repeats(self) -> bool:
        """Whether the client may be asked to repeat the call."""
        rounds = self.state.rounds if self.state is not None else 0
        return (
            self.tool.repeatable
            and self.call.opens_links
            and rounds < ROUNDS
            and not self._declined
        )

    @property
    def _declined(self) -> bool:
        """Whether the person at the client refused to open the link. Closing it is not a refusal."""
        responses = self.call.params.get("inputResponses")
        response = responses.get(LINK) if isinstance(responses, dict) else None
        return isinstance(response, dict) and response.get("action") == "decline"


def call_tool(
    request: HttpRequest,
    caller: Caller,
    call: MethodCall,
    server: Mapping[str, str],
    problem: Refusal | None,
) -> HttpResponse:
    """Respond with the result of a tool, or with a stream that ends with it. Raise RpcError.

    `problem` is why the message cannot be stored. The model reads it only in a result: clients raise all other errors.
    """
    name = call.params.get("name")
    sent = call.params.get("arguments", {})
    tool = TOOLS.get(name) if isinstance(name, str) else None
    if tool is None or not isinstance(sent, dict):
        message = _("`name` must be one of %(names)s, and `arguments` a JSON object.")
        raise RpcError(messages.INVALID_PARAMS, message % {"names": ", ".join(TOOLS)})
    bare, _characters = without_contents(sent, ["attachments"])
    if problem is not None:
        return _finished(
            call, _refused(tool, results.words_of_values(bare, problem)), server
        )
    about = digest([tool.name, bare])
    state = _state_of(call, caller.scope, about)
    call = call if state is None else replace(call, taker=state.taker)
    try:
        caller.require(tool.scope)
        arguments = tool.arguments.model_validate(sent)
        started = (
            queries.get_request_for(caller.standing, state.request_id)
            if state
            else tool.start(caller, arguments, call)
        )
    except (Refusal, ValidationError) as error:
        return _finished(call, _refused(tool, results.words_of(error)), server)
    if isinstance(started, dict):
        return _finished(
            call,
            results.tool_result(started, structured=tool.output is not None),
            server,
        )
    waiting = _Waiting(
        call=call,
        tool=tool,
        request=started,
        credentials=credentials_of(request),
        stream_id=_stream_id(caller, tool, started, call),
        state=state,
        digest=about,
        server=server,
    )
    if not started.pending or waiting._declined:
        return _finished(call, _shown(waiting, caller, started), server)
    return streamed_response(
        request, _stream(waiting), content_type=sse.CONTENT_TYPE, headers=sse.HEADERS
    )


def continue_stream(
    request: HttpRequest, caller: Caller, last_event: str, server: Mapping[str, str]
) -> HttpResponse:
    """Respond with the rest of a broken stream, in any process. Raise RpcError, or a Refusal for lost rights."""
    state = decrypt_stream(last_event, scope=caller.scope)
    tool = TOOLS.get(state.tool) if state is not None else None
    if state is None or tool is None:
        raise RpcError(
            messages.INVALID_REQUEST,
            _("`Last-Event-ID` is not the id of an event for this key."),
        )
    caller.require(tool.scope)
    meta = (
        {} if state.progress_token is None else {"progressToken": state.progress_token}
    )
    # Only clients of the older era continue streams.
    call = MethodCall(
        state.call_id,
        "tools/call",
        {"_meta": meta},
        modern=False,
        takes_empty_events=True,
        taker=state.taker,
    )
    waiting = _Waiting(
        call=call,
        tool=tool,
        request=queries.get_request_for(caller.standing, state.request_id),
        credentials=credentials_of(request),
        stream_id=last_event,
        state=None,
        digest="",
        server=server,
    )
    return streamed_response(
        request, _stream(waiting), content_type=sse.CONTENT_TYPE, headers=sse.HEADERS
    )


def _stream_id(
    caller: Caller, tool: Tool, request: ApprovalRequest, call: MethodCall
) -> str:
    state = StreamState(request.pk, tool.name, call.id, call.progress_token, call.taker)
    return encrypt_stream(state, scope=caller.scope)


def _state_of(call: MethodCall, scope: str, about: str) -> WaitState | None:
    """Return the state of a repeated call. Raise RpcError if it is not ours."""
    text = call.params.get("requestState") if call.modern else None
    if text is None:
        return None
    state = (
        decrypt_call(text, scope=scope, digest=about) if isinstance(text, str) else None
    )
    if state is None:
        message = _(
            "`requestState` is not valid for this call. Send it exactly as you got it, with the same arguments."
        )
        raise RpcError(messages.INVALID_PARAMS, message)
    return state


def _finished(
    call: MethodCall, result: JsonMapping, server: Mapping[str, str]
) -> HttpResponse:
    return JsonResponse(messages.success(call, result, server))


def _shown(waiting: _Waiting, caller: Caller, request: ApprovalRequest) -> JsonDict:
    """Return the result for a call, and consume the decision if it is for only one call."""
    tool = waiting.tool
    show = waiting.tool.show
    if request.scope != caller.scope:
        # Other readers consume nothing that belongs to the requesting program.
        show = results.foreign
    elif not request.pending:
        # Requests from other channels, and calls with an id, have nothing to consume.
        call_id = str(request.pk) if request.taker is None else ""
        calls = repeats.equal_calls(caller, waiting.call, call_id=call_id)
        # A rejection or an answer goes to all callers that waited; an approval goes to one call.
        if (
            not actions.take_decision(request, calls)
            and request.status == Status.APPROVED
        ):
            show = results.taken
    return results.tool_result(
        show(for_caller(caller, request)), structured=tool.output is not None
    )


def _refused(tool: Tool, message: str) -> JsonDict:
    if tool.show is results.permission:
        return results.tool_result(results.denial(message), structured=False)
    return results.tool_error(message)


async def _stream(waiting: _Waiting) -> AsyncIterator[bytes]:
    """Yield keep-alive messages until the request has ended or time is up, and then the response.

    The first event has an id, so that a client can continue the stream. Claude Code (2.1.330) cannot, but without an id it does
    not notice the end of a stream.
    """
    token = waiting.call.progress_token
    passed = 0.0
    every = KEEP_ALIVE if token is None else PROGRESS
    if token is None and waiting.call.takes_empty_events:
        yield sse.frame("", event_id=waiting.stream_id, retry=RETRY)
    request_id = waiting.request.pk
    ended = asyncio.ensure_future(
        waiting_room.wait_until_ended(
            request_id,
            waiting.seconds,
            lambda: waiting_room.find_ended([str(request_id)]) or None,
        )
    )
    try:
        while not ended.done():
            yield sse.KEEP_ALIVE if token is None else _progress(waiting, passed)
            await asyncio.wait({ended}, timeout=every)
            passed += every
    finally:
        ended.cancel()
    yield _frame(waiting, await _response(waiting))


async def _response(waiting: _Waiting) -> JsonDict:
    try:
        result = await pool.retry(_result, waiting)
    except Refusal as refusal:
        result = _refused(waiting.tool, results.words_of(refusal))
    except Exception:
        # The stream has begun, so the status can no longer change.
        logger.exception("A call of an MCP client failed while it waited.")
        return messages.failure(waiting.call.id, _lost(waiting.request))
    return messages.success(waiting.call, result, waiting.server)


def _lost(request: ApprovalRequest) -> RpcError:
    """Return the error for a call that failed while waiting; its request still exists."""
    about = {"request_id": str(request.pk), "url": request.public_url}
    message = f"Internal error. The request is kept: call check_request with the request_id {request.pk}."
    return RpcError(messages.INTERNAL_ERROR, message, data=about)


def _result(waiting: _Waiting) -> JsonDict:
    """Return the result after waiting. Look up the caller again, because a key may have been revoked. Raise Refusal."""
    caller = waiting.credentials.caller()
    if caller is None:
        raise NotAuthenticated
    caller.require(waiting.tool.scope)
    request = read_due_request(caller, waiting.request.pk).row
    if not request.pending or not waiting.repeats:
        return _shown(waiting, caller, request)
    rounds = waiting.state.rounds if waiting.state is not None else 0
    sealed = encrypt_call(
        WaitState(request.pk, rounds + 1, waiting.call.taker),
        scope=caller.scope,
        digest=waiting.digest,
    )
    again: JsonDict = {"resultType": "input_required", "requestState": sealed}
    if rounds == 0:
        # Only once: afterwards the client repeats the call without notifying its person.
        link = {
            "mode": "url",
            "message": _("Answer this request: %(title)s") % {"title": request.title},
        }
        params = {**link, "url": request.public_url}
        again["inputRequests"] = {
            LINK: {"method": "elicitation/create", "params": params}
        }
    return again


def _progress(waiting: _Waiting, passed: float) -> bytes:
    message = _("A person has been asked: %(url)s") % {
        "url": waiting.request.public_url
    }
    params = {
        "progressToken": waiting.call.progress_token,
        "progress": passed,
        "total": waiting.seconds,
        "message": message,
    }
    return _frame(
        waiting,
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": params},
    )


def _frame(waiting: _Waiting, message: JsonMapping) -> bytes:
    data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return sse.frame(data, event="message", event_id=waiting.stream_id, retry=RETRY)
