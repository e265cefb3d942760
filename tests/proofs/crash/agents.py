"""For the crashing server: an agent whose tool charges a card, and a handler of its events; both count in files."""

from __future__ import annotations

import os
import time
from pathlib import Path

from approvals.outbound.outbox import Event
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import ToolContext, tool
from tests.proofs.crash.points import die_at

CHARGES = "CRASH_CHARGES_FILE"
HEARD = "CRASH_HEARD_FILE"
RELEASE = "CRASH_RELEASE_FILE"
LEASE = "CRASH_LEASE"


def note(file: str, line: str) -> None:
    """Write one line to disk before anything else happens: the tool's own count, which survives the server."""
    with Path(os.environ[file]).open("a") as out:
        out.write(f"{line}\n")
        out.flush()
        os.fsync(out.fileno())


@tool(needs_approval=True)
def charge(ref: str) -> str:
    """Charge the card."""
    note(CHARGES, ref)
    return f"receipt {ref}"


@tool(idempotent=True)
def reserve(ref: str, context: ToolContext) -> str:
    """Reserve an amount: a second run with the same id reserves nothing more."""
    note(CHARGES, f"{ref} {context.tool_call_id}")
    return f"reserved {ref}"


@tool
def charge_slowly(ref: str) -> str:
    """Charge the card, and come back when the release file is there: a sync tool that blocks its thread."""
    note(CHARGES, ref)
    while not Path(os.environ[RELEASE]).exists():
        time.sleep(0.02)
    return f"receipt {ref}"


def hear(event: Event) -> None:
    note(HEARD, f"{event.stream} {event.id} {event.name}")
    die_at("handler")


cashier = Agent(
    name="cashier",
    tools=(charge, charge_slowly, reserve),
    script=(
        Conversation(
            r"slowly (?P<ref>\S+)",
            [[Say("This may take a while."), Use("charge_slowly", {"ref": "{ref}"})], [Say("At last: {answers}")]],
        ),
        Conversation(r"recite", [[Say("one two three four five six seven eight nine ten", pause=1)]]),
        Conversation(r"hello", [[Say("Good day.")]]),
        Conversation(
            r"^reserve (?P<ref>\S+)",
            [[Say("One moment."), Use("reserve", {"ref": "{ref}"})], [Say("That is it: {answers}")]],
        ),
        Conversation(
            r"^charge (?P<ref>\S+)",
            [
                [Say("I charge the card as soon as somebody agrees.", pause=0.005), Use("charge", {"ref": "{ref}"})],
                [Say("That is done, and here is what I got: {answers}", pause=0.005)],
            ],
        ),
    ),
)

manager = Agent(
    name="manager",
    tools=(cashier.as_tool(),),
    script=(
        Conversation(
            r"have (?P<ref>\S+) charged",
            [
                [Say("The cashier does that.", pause=0.005), Use("cashier", {"task": "charge {ref}"})],
                [Say("The cashier told me: {answers}", pause=0.005)],
            ],
        ),
    ),
)
