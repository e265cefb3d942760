"""Run turns in tests the way the server does: the real runner, the real scripted provider, the real database."""

from __future__ import annotations

import asyncio

from django.contrib.auth.models import User

from approvals.models import ApprovalRequest
from approvals.states import Door
from chats import actions, runner
from chats.agent import registry
from chats.agent.demo import support
from chats.models import Chat, Turn
from chats.queries import open_requests
from chats.states import TurnState

AGENTS = ["chats.agent.demo.support"]


def make_chat(owner: User, public_id: str = "") -> Chat:
    return actions.open_chat(owner=owner, agent=support, public_id=public_id)


def say(chat: Chat, text: str) -> Turn:
    """Post a message as the chat's owner."""
    agent = registry.get(AGENTS, chat.agent)
    return actions.post_message(chat, text, by=chat.owner, agent=agent, via=Door.CHAT).turn


def run(turn: Turn) -> Turn:
    """Let the turn go as far as it can; gives it as stored afterwards."""
    asyncio.run(_advance(turn.pk))
    turn = Turn.objects.select_related("chat__owner").get(pk=turn.pk)
    return run(turn) if turn.state == TurnState.QUEUED else turn


async def _advance(turn_id: int) -> None:
    await runner.advance(turn_id, asyncio.Event())
    # The ledger's last batch may still be on its way to the database.
    await asyncio.gather(
        *(task for task in asyncio.all_tasks() if task is not asyncio.current_task()), return_exceptions=True
    )


def converse(owner: User, text: str) -> Turn:
    """A new chat with one message, run to its pause or end."""
    return run(say(make_chat(owner), text))


def only_request(turn: Turn) -> ApprovalRequest:
    (request,) = open_requests(turn)
    return request


__all__ = ["AGENTS", "converse", "make_chat", "only_request", "run", "say"]
