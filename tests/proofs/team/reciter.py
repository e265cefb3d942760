"""An agent that stops in the middle of a sentence until released, and the scripted provider's part of that."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from chats.agent.agent import Agent
from chats.agent.demo import issueRefund
from chats.agent.events import Event, TextDelta
from chats.agent.script import Conversation, Say, Use
from chats.providers import scripted
from tests.proofs.crash.agents import RELEASE

HELD = "hold"
FIRST, REST = "one two", "three four five"
FIRST_PIECE, WHOLE = f"{FIRST} {HELD} ", f"{FIRST} {HELD} {REST}"

reciter = Agent(
    name="reciter",
    tools=[issueRefund],
    script=[
        Conversation("recite", [[Say(WHOLE, pause=0)]]),
        Conversation("refund", [[Use("issueRefund", {"amount": 120, "orderId": "A-1"})], [Say(WHOLE, pause=0)]]),
    ],
)


def hold_where_told() -> None:
    """Behind the word HELD the provider goes on when the release file is there."""
    say = scripted._say

    async def held(part_id: str, text: str, pause: float) -> AsyncIterator[Event]:
        async for event in say(part_id, text, pause):
            yield event
            while isinstance(event, TextDelta) and event.text.strip() == HELD and not released():
                await asyncio.sleep(0.02)

    scripted._say = held


def released() -> bool:
    return Path(os.environ[RELEASE]).exists()
