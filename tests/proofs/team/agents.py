"""An agent without pauses between its words, and an app that listens: for counting and measuring."""

from __future__ import annotations

import time

from approvals.outbound.outbox import Event
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool

AGENTS = "tests.proofs.team.agents.clerk"
HANDLER = "tests.proofs.team.agents.hear"


@tool(idempotent=True)
def look_up(amount: int) -> str:
    """Look an amount up."""
    return f"{amount} is free"


@tool(needs_approval=True)
def book(amount: int) -> str:
    """Book an amount."""
    return f"booked {amount}"


@tool(needs_approval=True)
def stamp() -> float:
    """Say when this ran, by the machine's own clock since its start, in seconds."""
    return time.monotonic()


def hear(event: Event) -> None:
    """An app that listens; never called while deliveries are off."""


clerk = Agent(
    name="clerk",
    tools=(look_up, book, stamp),
    script=(
        Conversation(
            r"^book", [[Say("A moment.", pause=0), Use("book", {"amount": 5})], [Say("Done: {answers}", pause=0)]]
        ),
        Conversation(
            r"^look up and book",
            [
                [Say("A moment.", pause=0), Use("look_up", {"amount": 5})],
                [Say("It is free.", pause=0), Use("book", {"amount": 5})],
                [Say("Done: {answers}", pause=0)],
            ],
        ),
        Conversation(r"^stamp", [[Say("A moment.", pause=0), Use("stamp")], [Say("Done.", pause=0)]]),
        # About two seconds of words.
        Conversation(r"^recite", [[Say(" ".join(f"word{number}" for number in range(40)), pause=0.05)]]),
        Conversation(r".", [[Say("Good day.", pause=0)]]),
    ),
)
