"""Pending calls, pending approvals and new answers in a chain of AI SDK UIMessages. Pure.

`queries.requests` uses it to find the pending calls of a turn, and `actions.answering` to find the answers in a client's message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NotRequired, TypedDict

from approvals.json_types import JsonDict, JsonMapping

UIMessage = JsonDict
Part = JsonDict

#: States of a tool part whose call has its result.
CLOSED = frozenset({"output-available", "output-error", "output-denied"})
_TAKES_NO_APPROVAL = CLOSED | {"approval-responded"}
_TAKES_NO_OUTPUT = _TAKES_NO_APPROVAL | {"approval-requested"}


class PendingToolCall(TypedDict):
    toolCallId: str
    toolName: str
    messageId: str | None


class PendingApproval(PendingToolCall):
    approvalId: str


class _Outcome(TypedDict):
    output: NotRequired[Any]
    errorText: NotRequired[str]


class ToolResult(_Outcome):
    toolCallId: str
    toolName: str
    input: Any


def pending_tool_calls(chain: list[UIMessage]) -> list[PendingToolCall]:
    """Return the calls that wait for an output: `[{toolCallId, toolName, messageId}]`, one row per call id.

    They are the AI SDK UIMessage tool parts in state `input-available` of the most recent assistant
    message that has parts; a later user message does not hide them. `messageId` is None if the message
    has no string id.
    """
    return [_pending(call) for call in _awaiting_output(chain, _latest(chain)).values()]


def pending_approvals(chain: list[UIMessage]) -> list[PendingApproval]:
    """Return the calls that wait for an approval: `[{toolCallId, toolName, messageId, approvalId}]`.

    Like `pending_tool_calls`, for state `approval-requested`; `approvalId` is `approval.id` of the UIMessage part.
    """
    calls = _awaiting_approval(chain, _latest(chain)).values()
    return [{**_pending(call), "approvalId": call.approval_id} for call in calls]


def extract_new_tool_results(
    chain: list[UIMessage], incoming: UIMessage
) -> list[ToolResult]:
    """Return the results in an incoming assistant UIMessage that the chain does not have yet.

    `[{toolCallId, toolName, input, output? | errorText?}]`, the first of duplicate ids: `output` for a
    part in state `output-available`, `errorText` for `output-error`. A call that is closed, or that needs
    an approval, takes no result. `toolName` and `input` are the stored call's; only a call that the chain
    does not have brings its own.
    """
    refused = _refused(chain, _TAKES_NO_OUTPUT)
    # If several stored parts have the same id, use the one that merge_incoming would answer.
    stored = _first_per_id(_calls(chain)) | _awaiting_output(
        chain, _same_message(chain, incoming)
    )
    rows: list[ToolResult] = []
    for result in _results(incoming).values():
        call = stored.get(result.id, result)
        if call.name and call.id not in refused:
            stored_input = call.part.get("input")
            rows.append(
                {
                    "toolCallId": call.id,
                    "toolName": call.name,
                    "input": stored_input,
                    **_outcome(result),
                }
            )
    return rows


def merge_incoming(chain: list[UIMessage], incoming: UIMessage) -> list[UIMessage]:
    """Return a new chain with the answers of an incoming assistant UIMessage in their open calls.

    Only open calls of the stored assistant message with the same id change, and of these only `state`, `output`, `errorText` and
    `approval`. Nothing is appended. Unchanged values are shared with `chain`.
    """
    merged = list(chain) if isinstance(chain, list) else []
    for call, answered in _answers(chain, incoming):
        message = merged[call.message_index]
        parts = list(message["parts"])
        parts[call.part_index] = answered
        merged[call.message_index] = {**message, "parts": parts}
    return merged


class _Call(NamedTuple):
    """A tool part of an assistant message with a valid call id. Other invalid texts are ""."""

    id: str
    name: str
    state: str
    approval_id: str
    answerable: bool
    part: Part
    message_id: str | None
    message_index: int
    part_index: int


def _calls(chain: object) -> Iterator[_Call]:
    for message_index, message in enumerate(chain if isinstance(chain, list) else []):
        for part_index, part in enumerate(_assistant_parts(message)):
            kind = _text(part, "type")
            call_id = _text(part, "toolCallId")
            state = _text(part, "state")
            if not call_id or not (kind == "dynamic-tool" or kind.startswith("tool-")):
                continue
            name = tool_name(part)
            preliminary = part.get("preliminary") is True
            # An answer would keep the `preliminary` mark of an open call, which would never close then.
            never_closes = preliminary and state == "input-available"
            yield _Call(
                id=call_id,
                name=name,
                # A preliminary output is followed by the real one, so it closes nothing.
                state="" if preliminary and state == "output-available" else state,
                approval_id=_text(part.get("approval"), "id"),
                answerable=bool(name)
                and part.get("providerExecuted") is not True
                and not never_closes,
                part=part,
                message_id=message["id"]
                if isinstance(message.get("id"), str)
                else None,
                message_index=message_index,
                part_index=part_index,
            )


def tool_name(part: JsonMapping) -> str:
    """Return the tool name of a tool part; "" for a dynamic one without a valid name."""
    kind = _text(part, "type")
    return (
        _text(part, "toolName")
        if kind == "dynamic-tool"
        else kind.removeprefix("tool-")
    )


def _assistant_parts(message: object) -> list[Any]:
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return []
    parts = message.get("parts")
    return parts if isinstance(parts, list) else []


def _text(holder: object, key: str) -> str:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def _latest(chain: object) -> list[_Call]:
    messages = chain if isinstance(chain, list) else []
    with_parts = [
        index for index, message in enumerate(messages) if _assistant_parts(message)
    ]
    return [call for call in _calls(chain) if call.message_index in with_parts[-1:]]


def _same_message(chain: object, incoming: object) -> list[_Call]:
    wanted = incoming.get("id") if isinstance(incoming, dict) else None
    return [
        call
        for call in _calls(chain)
        if call.message_id is not None and call.message_id == wanted
    ]


def _first_per_id(calls: Iterable[_Call]) -> dict[str, _Call]:
    first: dict[str, _Call] = {}
    for call in calls:
        first.setdefault(call.id, call)
    return first


def _refused(chain: object, states: frozenset[str]) -> set[str]:
    """Return the ids of calls with a part that rules out an answer; of several parts with one id the strictest counts."""
    return {
        call.id for call in _calls(chain) if call.state in states or not call.answerable
    }


def _awaiting_output(chain: object, among: list[_Call]) -> dict[str, _Call]:
    refused = _refused(chain, _TAKES_NO_OUTPUT)
    return _first_per_id(
        c for c in among if c.state == "input-available" and c.id not in refused
    )


def _awaiting_approval(chain: object, among: list[_Call]) -> dict[str, _Call]:
    refused = _refused(chain, _TAKES_NO_APPROVAL)
    requested = (c for c in among if c.state == "approval-requested" and c.approval_id)
    return _first_per_id(c for c in requested if c.id not in refused)


def _pending(call: _Call) -> PendingToolCall:
    return {"toolCallId": call.id, "toolName": call.name, "messageId": call.message_id}


def _results(incoming: object) -> dict[str, _Call]:
    return _first_per_id(
        call
        for call in _calls([incoming])
        if call.state == "output-error"
        or (call.state == "output-available" and "output" in call.part)
    )


def _outcome(result: _Call) -> _Outcome:
    if result.state == "output-error":
        return {"errorText": _text(result.part, "errorText")}
    return {"output": result.part["output"]}


def _responses(incoming: object) -> dict[str, _Call]:
    responded = (
        c
        for c in _calls([incoming])
        if c.state == "approval-responded" and c.approval_id
    )
    return _first_per_id(
        c for c in responded if isinstance(c.part["approval"].get("approved"), bool)
    )


def _answers(chain: object, incoming: object) -> Iterator[tuple[_Call, Part]]:
    """Yield each open call that `incoming` answers, with the part that replaces it."""
    own = _same_message(chain, incoming)
    results = _results(incoming)
    responses = _responses(incoming)
    for call in _awaiting_output(chain, own).values():
        if call.id in results:
            yield call, _with_result(call, results[call.id])
    for call in _awaiting_approval(chain, own).values():
        # Only the approval id that the server gave to this call approves it.
        if call.id in responses and responses[call.id].approval_id == call.approval_id:
            yield call, _with_response(call, responses[call.id])


def _with_result(call: _Call, result: _Call) -> Part:
    kept = {
        key: value
        for key, value in call.part.items()
        if key not in ("output", "errorText")
    }
    return {**kept, "state": result.state, **_outcome(result)}


def _with_response(call: _Call, response: _Call) -> Part:
    sent = response.part["approval"]
    reason = {"reason": sent["reason"]} if isinstance(sent.get("reason"), str) else {}
    approval = {"id": sent["id"], "approved": sent["approved"], **reason}
    return {**call.part, "state": "approval-responded", "approval": approval}
