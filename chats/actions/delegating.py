"""Sub-agents: calls that other agents carry out, each in a chat of its own below the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.conf import settings

from approvals.db.canonical_json import canonical, clean_json
from chats.actions import rows, transitions
from chats.actions.calling import Written, begin_calls
from chats.actions.claiming import start_turn, title_of
from chats.actions.locking import Claim, Recorded, claimed_turn
from chats.actions.writes import notify_after_commit, store, write_events
from chats.agent import registry
from chats.agent.agent import Agent
from chats.exceptions import StopRequested
from chats.models import Chat, ToolCall, Turn
from chats.queries import subagents
from chats.queries.values import REMARK
from chats.states import CallState, TurnState

#: Maximum nesting of agents.
MAX_DEPTH = 4
#: Maximum characters of a sub-agent's last text that its caller gets.
MAX_OUTPUT = 100_000


def delegate_calls(claim: Claim, agent: Agent, recorded: Sequence[Recorded]) -> Written:
    """Start a sub-agent's turn for each ready call; calls nested too deep fail. Raise LeaseLost or StopRequested."""
    with claimed_turn(claim) as locked:
        turn = locked.turn
        if turn.stopped:
            raise StopRequested
        started = begin_calls(
            locked, {tool.name: tool for tool in agent.tools if tool.agent is not None}
        )
        for execution in started:
            if turn.depth >= MAX_DEPTH:
                error = f"{execution.name} was not asked: agents may be nested {MAX_DEPTH} deep. Do it without a sub-agent."
                locked.progress = transitions.finish(
                    locked.progress,
                    execution.tool_call_id,
                    execution.attempt,
                    error_text=error,
                )
            else:
                locked.progress = transitions.delegate(
                    locked.progress, execution.tool_call_id
                )
        store(locked)
        tasks = {
            execution.tool_call_id: execution.input["task"] for execution in started
        }
        delegated = ToolCall.objects.filter(
            chat=turn.chat_id, tool_call_id__in=tasks, state=CallState.DELEGATED
        )
        for call in delegated.order_by("id"):
            tool = agent.tool(call.name)
            assert tool is not None
            _begin(turn, call.pk, tool.agent, tasks[call.tool_call_id])
        write_events(locked, recorded)
        notify_after_commit(turn.chat_id)
    return Written(locked.claim())


def _begin(above: Turn, call_pk: int, agent: Agent, task: str) -> Turn:
    chat = Chat.objects.create(
        owner=above.chat.owner,
        public_id=uuid4().hex,
        agent=agent.name,
        title=title_of(task),
        root_id=above.chat.root_id or above.chat_id,
    )
    parts = [{"type": "text", "text": task}]
    message = rows.MESSAGE.of_row(
        chat_id=chat.pk, message_id=uuid4().hex, role="user", parts=parts
    )
    return start_turn(
        chat,
        task,
        agent,
        source=above.source,
        new=True,
        also=[message],
        parent_call_id=call_pk,
        root=above.top,
        depth=above.depth + 1,
    )


def settle_delegated(claim: Claim, recorded: Sequence[Recorded] = ()) -> Written:
    """Close the calls whose sub-agents have ended, with their last text as the output. Raise LeaseLost."""
    with claimed_turn(claim) as locked:
        for call, below in subagents.delegated(locked.turn):
            if below.unfinished:
                continue
            if below.state == TurnState.COMPLETED:
                output = _output(locked.turn, call, below)
                error = ""
            else:
                output = None
                error = (
                    f"{below.agent} failed: {below.error}"
                    if below.error
                    else f"{below.agent} was stopped."
                )
            state = CallState.FAILED if error else CallState.SUCCEEDED
            locked.progress = transitions.close(
                locked.progress,
                call.tool_call_id,
                state,
                output=output,
                error_text=error,
            )
        store(locked)
        write_events(locked, recorded)
        notify_after_commit(locked.turn.chat_id)
    return Written(locked.claim())


def _output(turn: Turn, call: ToolCall, below: Turn) -> Any:
    """Return a sub-agent's last text, or its parsed value if the sub-agent has an output type and conformed to it."""
    text = _last_text(below)
    try:
        tool = registry.get(settings.HITL_AGENTS, turn.agent).tool(call.name)
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
    return (
        text
        if len(text) <= MAX_OUTPUT
        else f"{text[:MAX_OUTPUT]}\n(The rest was cut off.)"
    )
