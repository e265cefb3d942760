"""Run turns in tests as the server does: with the real runner, scripted provider and database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db.canonical_json import digest
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.states import Door, Verdict
from chats import actions, checkpoints
from chats.actions.calling import Execution
from chats.actions.locking import Claim
from chats.agent import registry
from chats.agent.provider import ModelMessage
from chats.checkpoints import VERSION
from chats.engine import runner
from chats.models import Chat, Message, Turn, TurnCheckpoint
from chats.queries import events_after, open_requests, progress, with_parts
from chats.states import CallState, TurnState


def make_chat(owner: User, public_id: str = "") -> Chat:
    """Return a chat with the first listed agent."""
    agent = next(iter(registry.load(tuple(settings.HITL_AGENTS)).values()))
    return actions.open_chat(owner=owner, agent=agent, public_id=public_id)


def say(chat: Chat, text: str) -> Turn:
    """Post a message as the chat's owner."""
    agent = registry.get(settings.HITL_AGENTS, chat.agent)
    return actions.post_message(chat, text, by=chat.owner, agent=agent, via=Door.CHAT).turn


def run(turn: Turn) -> Turn:
    """Run a turn until it rests; return it as stored."""
    asyncio.run(_advance(turn.pk))
    turn = reload(turn)
    return run(turn) if turn.state == TurnState.QUEUED else turn


def reload(turn: Turn) -> Turn:
    return Turn.objects.select_related("chat__owner").get(pk=turn.pk)


async def _advance(turn_id: int) -> None:
    await runner.advance(turn_id, asyncio.Event())
    # The ledger's last batch may not be stored yet.
    rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    await asyncio.gather(*rest, return_exceptions=True)


def start_calls(claim: Claim, turn: Turn) -> list[Execution]:
    """Have a runner start the ready calls of its turn."""
    ready = turn.tool_calls.filter(state=CallState.READY).values_list("name", flat=True)
    agent = registry.get(settings.HITL_AGENTS, turn.agent)
    return list(actions.start_calls(claim, {name: agent.tool(name) for name in ready}, []).started)


def start_call(claim: Claim, turn: Turn) -> Execution:
    """Have a runner start the one ready call of its turn."""
    (execution,) = start_calls(claim, turn)
    return execution


def converse(owner: User, text: str) -> Turn:
    """Start a chat with one message; return its turn at its pause or end."""
    return run(say(make_chat(owner), text))


def only_request(turn: Turn) -> ApprovalRequest:
    (request,) = open_requests(turn)
    return request


def decide(request: ApprovalRequest, by: User, verdict: Verdict, **given: Any) -> Decision:
    return desk.decide(request.pk, Answer(verdict, **given), by=by, via=Door.DASHBOARD).decision


def overdue(request: ApprovalRequest) -> None:
    """Let the request's deadline pass."""
    ApprovalRequest.objects.filter(pk=request.pk).update(deadline_at=timezone.now() - timedelta(seconds=1))


def parts(turn: Turn) -> list[dict[str, Any]]:
    """Return the parts of the turn's message."""
    return list(with_parts(Message.objects.get(chat=turn.chat_id, message_id=turn.message_id)).parts)


def tool_parts(turn: Turn) -> list[dict[str, Any]]:
    return [part for part in parts(turn) if part["type"].startswith("tool-")]


def shape(turn: Turn) -> list[str]:
    """Return the message in short: types of parts, and states of tool parts."""
    return [part["state"] if part["type"].startswith("tool-") else part["type"] for part in parts(turn)]


def last_text(turn: Turn) -> str:
    return str(parts(turn)[-1]["text"])


def chunks(turn: Turn, event: str) -> list[dict[str, Any]]:
    """Return the stored events of one type, in order."""
    return [chunk for _seq, chunk in events_after(turn.pk, 0) if chunk["event"] == event]


def kinds(turn: Turn) -> list[str]:
    """Return the kinds of the turn's checkpoints, in order."""
    return list(checkpoints_of(turn).values_list("kind", flat=True))


def checkpoints_of(turn: Turn) -> Any:
    return TurnCheckpoint.objects.filter(chat_pk=turn.chat_id, message_id=turn.message_id).order_by("ordinal")


def folded(turn: Turn) -> list[list[dict[str, Any]]]:
    """Return the message's parts at each checkpoint."""
    rows = list(checkpoints_of(turn))
    return [checkpoints.fold(rows[: place + 1]) for place in range(len(rows))]


def expected_digests(rows: Iterable[TurnCheckpoint], wholes: Iterable[list[dict[str, Any]]]) -> list[str]:
    """Return the digests of these checkpoints, computed from the whole message at each and from its salt."""
    pairs = zip(rows, wholes, strict=True)
    return [digest({"parts": whole, "salt": row.digest_salt, "version": VERSION}) for row, whole in pairs]


def results_on_record(turn: Turn) -> dict[str, int]:
    """Return the number of `tool.result` audit entries of each call."""
    ids = list(turn.tool_calls.values_list("tool_call_id", flat=True))
    entries = AuditEntry.objects.filter(event="tool.result", scope=turn.chat.scope)
    return {call_id: entries.filter(tool_call_id=call_id).count() for call_id in ids}


def model_history(turn: Turn) -> list[ModelMessage]:
    """Return the chat up to and including this turn, in the model's form, without what a process remembers of it."""
    return progress._read(turn).history
