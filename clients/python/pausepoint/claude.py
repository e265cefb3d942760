"""Claude Agent SDK: people answer Claude Code's questions to its user, including `AskUserQuestion`.

    options = ClaudeAgentOptions(can_use_tool=desk.can_use_tool)

or, to report results too and to tell Claude what people changed and said,

    permissions = DeskPermissions(desk)
    options = ClaudeAgentOptions(can_use_tool=permissions.can_use_tool, hooks=permissions.hooks)

Only calls that the permission rules ask about arrive here. Install with `pip install "pausepoint[claude]"`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Literal

from claude_agent_sdk import (
    HookContext,
    HookJSONOutput,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.desk import Outcome
from pausepoint.gate import AnyDesk

QUESTIONS = "AskUserQuestion"


class DeskPermissions:
    """The answers of one desk to Claude Code, and its reports of the calls that people approved."""

    def __init__(self, desk: AnyDesk) -> None:
        self._desk = desk
        #: The approved calls that have not ended, by the id of the tool use.
        self._approved: dict[str, Outcome] = {}

    async def can_use_tool(
        self, name: str, input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Ask people about a call, for the option of this name."""
        return await can_use_tool(
            self._desk, name, input, context, approved=self._approved
        )

    @property
    def hooks(
        self,
    ) -> dict[Literal["PostToolUse", "PostToolUseFailure"], list[HookMatcher]]:
        """The hooks for the option of this name."""
        return {
            "PostToolUse": [HookMatcher(hooks=[self._report])],
            "PostToolUseFailure": [HookMatcher(hooks=[self._report])],
        }

    async def _report(
        self, ended: Any, tool_use_id: str | None, _context: HookContext
    ) -> HookJSONOutput:
        """Report what ran and how it ended. Return the words of the people for Claude."""
        outcome = self._approved.pop(tool_use_id or "", None)
        if outcome is None:
            return {}
        failed = "error" in ended
        # Another hook may have changed the call after people approved it. The desk then records that something else ran.
        ran = replace(outcome, digest=outcome.digest_of(ended["tool_input"]))
        await gate.areport(
            self._desk,
            ran,
            output=None if failed else ended["tool_response"],
            error=ToolFailed(str(ended["error"])) if failed else None,
        )
        words = calls.note(outcome)
        if not words:
            return {}
        event = ended["hook_event_name"]
        return {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": words}
        }


class ToolFailed(Exception):
    """A tool of Claude Code failed; the message is its error."""


async def can_use_tool(
    desk: AnyDesk,
    name: str,
    input: dict[str, Any],
    context: ToolPermissionContext,
    *,
    approved: dict[str, Outcome] | None = None,
) -> PermissionResultAllow | PermissionResultDeny:
    """Ask a person about a call; for `AskUserQuestion`, ask people its questions. Approved calls are added to `approved`."""
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
    if approved is not None and context.tool_use_id:
        approved[context.tool_use_id] = outcome
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
