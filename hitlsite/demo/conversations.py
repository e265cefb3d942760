"""Create the demo's conversations with the same actions and runner as real ones."""

from __future__ import annotations

import asyncio

from django.conf import settings
from django.contrib.auth.models import User

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db import pool
from approvals.states import Door, Verdict
from chats import actions, queries
from chats.agent import registry
from chats.engine import runner
from chats.models import Chat, Turn


async def converse(requester: User, approver: User, *, with_questions: bool) -> None:
    """Create an answered weather question, an approved and a rejected refund, and one that waits.

    `with_questions`: and two questions that wait.
    """
    await _say(requester, "What is the weather in Paris")
    approved = await _say(requester, "Please refund order 4711, 250 euros")
    await _decide(
        approved, approver, Verdict.APPROVE, "The parcel came back yesterday."
    )
    rejected = await _say(requester, "Please refund order 4712, 900 euros")
    await _decide(
        rejected, approver, Verdict.REJECT, "Only half of it was returned: refund 450."
    )
    await _say(requester, "Please refund order 4713, 180 euros")
    if with_questions:
        await _say(requester, "ask human")
        await _say(requester, "ask")


async def _say(person: User, text: str) -> Turn:
    turn = await pool.run(_post, person, text)
    await runner.advance(turn.pk, asyncio.Event())
    return turn


def _post(person: User, text: str) -> Turn:
    agent = next(iter(registry.load(tuple(settings.HITL_AGENTS)).values()))
    chat: Chat = actions.open_chat(owner=person, agent=agent)
    return actions.post_message(chat, text, by=person, agent=agent, via=Door.CHAT).turn


async def _decide(turn: Turn, person: User, verdict: Verdict, comment: str) -> None:
    for request in await pool.run(queries.open_requests, turn):
        answer = Answer(verdict, comment)
        await pool.run(desk.decide, request.pk, answer, by=person, via=Door.DASHBOARD)
    await runner.advance(turn.pk, asyncio.Event())
