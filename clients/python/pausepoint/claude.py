"""Claude Agent SDK: people answer Claude Code's questions to its user, including `AskUserQuestion`.

    options = ClaudeAgentOptions(can_use_tool=desk.can_use_tool)

Only calls that the permission rules ask about arrive here. Install with `pip install "pausepoint[claude]"`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk

QUESTIONS = "AskUserQuestion"


async def can_use_tool(
    desk: AnyDesk, name: str, input: dict[str, Any], context: ToolPermissionContext
) -> PermissionResultAllow | PermissionResultDeny:
    """Ask a person about a call; for `AskUserQuestion`, ask people its questions."""
    call = ToolCall(name, context.tool_use_id or "", input, agent="Claude Code")
    if name == QUESTIONS:
        return await _answer(desk, call)
    reason = context.description or context.decision_reason or ""
    title, message = calls.title_and_message(context.title or call.title, reason)
    outcome = await gate.await_human(desk, title, **{**call.approval(), **message})
    if not outcome.approved:
        return PermissionResultDeny(
            message=calls.refusal(outcome), interrupt=outcome.halted
        )
    # Always sent, because it replaces the whole input.
    return PermissionResultAllow(updated_input=dict(outcome.input or {}))


async def _answer(
    desk: AnyDesk, call: ToolCall
) -> PermissionResultAllow | PermissionResultDeny:
    questions = call.input["questions"]
    outcomes = await asyncio.gather(
        *(_put(desk, call, place, each) for place, each in enumerate(questions))
    )
    for outcome in outcomes:
        if outcome.answer is None:
            return PermissionResultDeny(message=calls.answer_text(outcome))
    answers = {
        each["question"]: calls.answer_text(outcome)
        for each, outcome in zip(questions, outcomes, strict=True)
    }
    return PermissionResultAllow(updated_input={**call.input, "answers": answers})


async def _put(
    desk: AnyDesk, call: ToolCall, place: int, question: dict[str, Any]
) -> Any:
    options = [
        {name: option[name] for name in ("label", "description") if option.get(name)}
        for option in question["options"]
    ]
    title, message = calls.title_and_message(question["question"])
    return await gate.await_human(
        desk,
        title,
        **message,
        kind="question",
        options=options,
        multiple=bool(question.get("multiSelect")),
        allow_text=True,
        agent=call.agent,
        tool_call_id=f"{call.key[: calls.MAX_CALL_ID - 4]}:{place}" if call.key else "",
    )
