"""The agent of these installations: one that thinks, with a tool that charges a card and notes each charge in a file."""

from __future__ import annotations

import os
import time
from pathlib import Path

from chats.agent.agent import Agent
from chats.agent.tools import ToolContext, tool

CHARGES, RELEASE = "CLAUDE_CHARGES_FILE", "CLAUDE_RELEASE_FILE"


def _note(line: str) -> None:
    with Path(os.environ[CHARGES]).open("a") as out:
        out.write(f"{line}\n")
        out.flush()
        os.fsync(out.fileno())


@tool(needs_approval=True)
def charge(ref: str) -> str:
    """Charge the card; come back once the release file is there."""
    _note(ref)
    while not Path(os.environ[RELEASE]).exists():
        time.sleep(0.02)
    return f"receipt {ref}"


@tool(idempotent=True)
def price(ref: str, context: ToolContext) -> int:
    """Look the price up."""
    return len(f"{ref} {context.tool_call_id}")


cashier = Agent(name="cashier", system="Charge cards when somebody agrees.", tools=(price, charge), thinking="adaptive")
