"""Make chats in any state with the real actions and without a runner, for tests of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from approvals.models import ApprovalRequest
from chats import actions
from chats.actions.locking import Claim
from chats.agent.agent import Agent
from chats.agent.demo import SHIPPING, support
from chats.agent.events import ModelFinished
from chats.agent.loop import PlannedCall, plan_calls
from chats.models import Chat, Turn
from chats.queries import open_requests
from chats.states import CallState, FinishReason
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import make_chat, say, start_calls

REFUND = {"amount": 120, "orderId": "A-1001"}
__all__ = ["REFUND", "SHIPPING", "answer", "asked", "begin", "calling", "completed", "paused", "text", "use"]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(tool: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call_{uuid4().hex}", "name": tool, "input": value}


def begin(turn: Turn) -> Claim:
    """Claim a turn as a runner does."""
    claimed = claim_turn(turn.pk, owner="a test")
    assert claimed is not None
    return claimed[0]


def calling(tool: str, agent: Agent) -> tuple[ModelFinished, Sequence[PlannedCall]]:
    """Return a model's answer that calls one tool without input, and the planned call."""
    finished = ModelFinished([use(tool, {})], "tool_use", "a model")
    return finished, plan_calls(agent, finished.blocks)


def answer(turn: Turn, *blocks: dict[str, Any], agent: Agent = support, output: Any = "done") -> Turn:
    """Commit an answer with these blocks and `output` for its tools; then pause the turn, or finish it if nothing waits."""
    claim = begin(turn)
    index = turn.steps.count()
    reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    finished = ModelFinished(list(blocks), reason, "a model")
    planned = plan_calls(agent, finished.blocks)
    written = actions.commit_step(claim, index, finished, planned, [], provider="a test")
    for execution in [*written.started, *start_calls(written.claim, turn)]:
        assert actions.finish_call(execution, output=output)
    last = turn.events.count()
    if turn.tool_calls.filter(state=CallState.WAITING).exists():
        assert actions.pause_turn(claim, agent, index, [], last + 1)
    else:
        actions.finish_turn(claim, FinishReason.STOP, index, [], last + 1)
    return Turn.objects.get(pk=turn.pk)


def completed(chat: Chat, said: str = "hello", *blocks: dict[str, Any]) -> Turn:
    """Return a completed turn."""
    return answer(say(chat, said), *(blocks or [text("Hello back.")]))


def paused(chat: Chat, *blocks: dict[str, Any]) -> Turn:
    """Return a suspended turn: it waits for the approval of a refund, unless blocks are given."""
    return answer(say(chat, "please"), *(blocks or [text("I will."), use("issueRefund", REFUND)]))


def asked(owner: Any, tool: str = "askUser", value: dict[str, Any] = SHIPPING) -> tuple[Chat, ApprovalRequest]:
    """Return a chat that waits for one answer, and its request."""
    chat = make_chat(owner)
    (request,) = open_requests(paused(chat, use(tool, value)))
    return chat, request


def ended(turn: Turn, stop_reason: str, *blocks: dict[str, Any], **details: Any) -> Turn:
    """End a turn with an answer that ended for this reason, with the provider's details."""
    finished = ModelFinished(list(blocks), stop_reason, "a model", stop_details=details)
    new = actions.NewStep(turn.steps.count(), finished, plan_calls(support, finished.blocks), "a test")
    actions.finish_turn(begin(turn), FinishReason.OTHER, new.index, [], turn.events.count() + 1, new=new)
    return Turn.objects.get(pk=turn.pk)
