"""Sub-agents: a call that another agent carries out, in a chat of its own below the caller's."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import transaction

from approvals.runtime.canonical import canonical, clean_json
from chats.actions.calling import claim_call
from chats.actions.writes import (
    RUNNER,
    Claim,
    add_message,
    claimed_turn,
    close_call,
    notify_after_commit,
    start_turn,
)
from chats.agent import registry
from chats.agent.agent import Agent
from chats.models import Chat, ToolCall, Turn
from chats.queries import subagents
from chats.queries.remarks import REMARK
from chats.states import CallState, TurnState

#: How deep agents may be nested.
MAX_DEPTH = 4
#: Characters of a sub-agent's last text that its caller gets.
MAX_OUTPUT = 100_000


def delegate_call(claim: Claim, call_pk: int, agent: Agent) -> None:
    """Start a sub-agent's turn for a ready call; a call that is nested too deep fails. LeaseLost."""
    with transaction.atomic():
        claim.forget()
        execution = claim_call(claim, call_pk)
        if execution is None:
            return
        call = ToolCall.objects.select_related("turn__chat__owner", "turn__root").get(pk=call_pk)
        notify_after_commit(call.chat_id)
        if call.turn.depth >= MAX_DEPTH:
            error = f"{call.name} was not asked: agents may be nested {MAX_DEPTH} deep. Do it without a sub-agent."
            close_call(call, CallState.FAILED, error_text=error, via=RUNNER)
            return
        call.state = CallState.DELEGATED
        call.save(update_fields=["state"])
        _begin(call, agent, execution.input["task"])


def _begin(call: ToolCall, agent: Agent, task: str) -> Turn:
    above = call.turn
    chat = Chat.objects.create(
        owner=above.chat.owner, public_id=uuid4().hex, agent=agent.name, root_id=above.chat.root_id or above.chat_id
    )
    add_message(chat, uuid4().hex, "user", [{"type": "text", "text": task}])
    return start_turn(chat, task, agent, source=above.source, parent_call=call, root=above.top, depth=above.depth + 1)


def settle_delegated(claim: Claim) -> None:
    """Close the calls whose sub-agents have ended, with their last text as the output. LeaseLost."""
    with claimed_turn(claim) as (turn, _):
        claim.forget()
        ended = [(call, below) for call, below in subagents.delegated(turn) if not below.unfinished]
        for call, below in ended:
            call.turn = turn
            if below.state == TurnState.COMPLETED:
                close_call(call, CallState.SUCCEEDED, output=_output(call, below), via=RUNNER)
            else:
                error = f"{below.agent} failed: {below.error}" if below.error else f"{below.agent} was stopped."
                close_call(call, CallState.FAILED, error_text=error, via=RUNNER)
        if ended:
            notify_after_commit(turn.chat_id)


def _output(call: ToolCall, below: Turn) -> Any:
    """Return a sub-agent's last text, or the value in it if the sub-agent has an output type and kept to it."""
    text = _last_text(below)
    try:
        tool = registry.get(settings.HITL_AGENTS, call.turn.agent).tool(call.name)
    except registry.UnknownAgent:
        return text
    if tool is None or tool.agent is None or tool.agent.output is None:
        return text
    try:
        value = clean_json(tool.agent.parse_output(text).model_dump(mode="json"))
        canonical(value)
    except ValueError:
        return text
    return value


def _last_text(turn: Turn) -> str:
    """Return the text of a sub-agent's last step."""
    message = turn.chat.shown.filter(message_id=turn.message_id).first()
    texts: list[str] = []
    for part in message.parts if message is not None else []:
        if part["type"] == "step-start":
            texts = []
        elif part["type"] == "text":
            texts.append(part["text"])
        elif part["type"] == REMARK:
            texts.append(f"(This answer is not whole: {part['data']['code']}.)")
    text = "\n\n".join(texts)
    return text if len(text) <= MAX_OUTPUT else f"{text[:MAX_OUTPUT]}\n(The rest was cut off.)"
