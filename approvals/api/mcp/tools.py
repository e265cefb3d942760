"""The tools: their descriptions for clients, and the part of each that runs before the wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from pydantic import BaseModel

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.access.tool_lists import ASKING, Ruling
from approvals.api import requests
from approvals.api.mcp import repeats, results
from approvals.api.mcp.arguments import (
    AskHuman,
    CheckRequest,
    Permission,
    ReportResult,
    RequestApproval,
)
from approvals.api.mcp.messages import MethodCall
from approvals.api.outcomes import ReadRequest
from approvals.api.requests import ask_from
from approvals.asking.answers import ABSENT
from approvals.asking.digests import digest_for
from approvals.asking.origins import Origin
from approvals.db.canonical_json import MAX_BYTES, digest
from approvals.exceptions import Invalid, NotAllowed
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest
from approvals.record.audit import Subject
from approvals.states import MCP, Door
from approvals.trace_context import trace_context

Start = Callable[[Caller, Any, MethodCall], ApprovalRequest | JsonDict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. `start` returns the request to wait for, or the result if there is nothing to wait for.

    `repeatable`: a client may be asked to repeat the call, to wait longer than one call can. `patient`: the client cannot express
    "not yet", so its call waits until the client gives up.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    scope: str
    start: Start
    show: Callable[[ReadRequest], JsonDict] = results.outcome
    output: JsonMapping | None = None
    hints: Mapping[str, bool]
    repeatable: bool = False
    patient: bool = False

    def described(self) -> JsonDict:
        """Return the tool's entry in `tools/list`."""
        schema = self.arguments.model_json_schema()
        # The schema's title and description are for developers of Pausepoint.
        about = {
            name: value
            for name, value in schema.items()
            if name not in {"title", "description"}
        }
        output = {} if self.output is None else {"outputSchema": self.output}
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": about,
            **output,
            "annotations": {"title": self.title, **self.hints},
        }


def _ask(
    caller: Caller, arguments: AskHuman | RequestApproval | Permission, call: MethodCall
) -> ApprovalRequest | JsonDict:
    """Return the request in the arguments, created unless the same call has made it before; or its result."""
    sent = arguments.request()
    session = repeats.named_in(call.meta, repeats.SESSIONS)
    call_id = sent.tool_call_id or repeats.named_in(call.meta, repeats.CALL_IDS)
    if sent.tool_call_id:
        sent.tool_call_id = repeats.name_of_call(session, sent.tool_call_id)
    # With its defaults, it is larger than the message.
    about = arguments.model_dump(mode="json", exclude={"attachments"})
    body = digest(
        about | ({"attachments": sent.files} if sent.files else {}),
        max_bytes=2 * MAX_BYTES,
    )
    origin = Origin(
        scope=caller.scope,
        digest=body,
        source=MCP,
        thread_id=session,
        agent=caller.agent or call.client[:100],
        # A permission prompt cannot carry a result; callers with names of their own get the results.
        calls=repeats.equal_calls(
            caller,
            call,
            about=body,
            session=session,
            call_id=call_id,
            returns_results=not isinstance(arguments, Permission),
        ),
    )
    # A client with several calls in one connection names the trace of each in its message.
    wanted = replace(ask_from(sent), trace=trace_context(call.meta))
    outcome = requests.ask(caller, wanted, origin)
    if outcome.warnings and not isinstance(arguments, Permission):
        # The model is warned before it waits in vain.
        return results.outcome(ReadRequest(outcome.request))
    return outcome.request


def _permit(
    caller: Caller, arguments: Permission, call: MethodCall
) -> ApprovalRequest | JsonDict:
    """Return the request for a permission, or the permission to ask people. Raise NotAllowed if the key's lists deny the tool."""
    ruling, pattern = requests.ruling(caller, arguments.tool_name)
    if ruling == Ruling.DENIED:
        session = repeats.named_in(call.meta, repeats.SESSIONS)
        subject = Subject(
            scope=caller.scope,
            thread_id=session,
            agent=caller.agent or call.client[:100],
            tool_name=arguments.tool_name,
            tool_call_id=repeats.name_of_call(session, arguments.tool_use_id),
        )
        raise NotAllowed(
            requests.deny(caller, subject, arguments.input, pattern, via=Door.MCP)
        )
    if (
        ruling == Ruling.ALLOWED
        and arguments.tool_name in ASKING
        and pattern == arguments.tool_name
    ):
        return results.allowed(arguments.input)
    return _ask(caller, arguments, call)


def _check(
    caller: Caller, arguments: CheckRequest, call: MethodCall
) -> ApprovalRequest:
    return queries.get_request_for(caller.standing, arguments.request_id)


def _report(caller: Caller, arguments: ReportResult, call: MethodCall) -> JsonDict:
    # Null can be an output. With an error it means no output.
    has_output = "output" in arguments.model_fields_set and (
        arguments.output is not None or arguments.error is None
    )
    if has_output == (arguments.error is not None):
        raise Invalid(
            _("Send either an output or an error."),
            {"output": _("send this or `error`, not both")},
        )
    request = queries.get_request_for(caller.standing, arguments.request_id)
    decided = None if request.pending else request.decision
    digest = "" if decided is None else decided.approved_digest
    if arguments.input is not None:
        digest = digest_for(request, arguments.input, decided).text
    result = actions.ReportedResult(
        input_digest=digest,
        output=arguments.output if has_output else ABSENT,
        error_text=arguments.error or "",
    )
    actions.report_result(
        request.pk, result, scope=caller.scope, by=caller.actor, via=Door.MCP
    )
    return {}


_ASKS = {
    "readOnlyHint": False,
    "destructiveHint": False,
    "idempotentHint": False,
    "openWorldHint": True,
}

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="ask_human",
            title="Ask a person",
            description="Ask a person a question and wait for the answer. Use it when you need a decision, a fact or a "
            "preference that only a person has. If the status is pending, call check_request.",
            arguments=AskHuman,
            scope="ask",
            start=_ask,
            output=results.OUTCOME,
            hints=_ASKS,
            repeatable=True,
        ),
        Tool(
            name="request_approval",
            title="Request approval",
            description="Ask a person to approve an action before you run it, and wait for the decision. Run the action only "
            "if the status is approved, with exactly the `input` of the result, which the person may have changed. If the "
            "status is pending, call check_request. Afterwards call report_result.",
            arguments=RequestApproval,
            scope="ask",
            start=_ask,
            output=results.OUTCOME,
            hints=_ASKS,
            repeatable=True,
        ),
        Tool(
            name="check_request",
            title="Check a request",
            description="Wait for the answer or decision of an earlier request. Call it again while the status is pending.",
            arguments=CheckRequest,
            scope="read",
            start=_check,
            output=results.OUTCOME,
            hints={"readOnlyHint": True, "openWorldHint": True},
        ),
        Tool(
            name="report_result",
            title="Report a result",
            description="Report what an approved action returned, or why it failed. Call it once, after running the action.",
            arguments=ReportResult,
            scope="ask",
            start=_report,
            output={"type": "object"},
            hints={
                "readOnlyHint": False,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        ),
        Tool(
            name="permission",
            title="Permission prompt",
            description="For --permission-prompt-tool of Claude Code, which calls it. Models use request_approval.",
            arguments=Permission,
            scope="ask",
            start=_permit,
            show=results.permission,
            hints=_ASKS,
            patient=True,
        ),
    )
}
