"""Measure the CPU of the web process for a pause of one turn, from its first pauses to its last.

    .venv/bin/python -m benchmarks.long_turn [--pauses 500]

One turn of the scripted provider asks for an approval again and again; an AI SDK client approves each in its copy of the message,
over HTTP. One web process on PostgreSQL, which also runs the turn. A row is the mean of the ten pauses up to it, and the ratio
is to the first row: a pause should cost the same however long its turn is.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchmarks.chat_client import ChatClient
from benchmarks.load.costs import cpu
from benchmarks.stage import stage
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool

#: How many pauses the scripted turn has, and how many are one measurement.
MOST, WINDOW = 1000, 10


@tool(needs_approval=True)
def refund(order: int) -> str:
    """Pay an order back."""
    return f"Refunded order {order}."


asker = Agent(
    name="asker",
    tools=(refund,),
    script=(
        Conversation(
            ".",
            [[Say("And one more order.", pause=0), Use("refund", {"order": order})] for order in range(MOST)]
            + [[Say("Done.", pause=0)]],
        ),
    ),
    max_steps=MOST + 10,
)


def measured(at: Sequence[int]) -> Iterator[float]:
    """Yield the ms of CPU of one pause at each of these, which grow in steps of ten or more."""
    with stage(workers=0, redis=False, HITL_AGENTS="benchmarks.long_turn.asker") as installation:
        (web,) = installation.webs
        client = ChatClient(installation.program())
        client.say("ask")
        for before, last in pairwise([0, *at]):
            approve(client, last - before - WINDOW)
            began = cpu(web)
            approve(client, WINDOW)
            yield (cpu(web) - began) / WINDOW * 1000


def approve(client: ChatClient, times: int) -> None:
    for _ in range(times):
        client.approve()
        assert len(client.waiting) == 1, client.answer["parts"][-1]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pauses", type=int, nargs="+", default=[10, 100, 500], help=f"at most {MOST}")
    pauses = sorted(options.parse_args().pauses)
    print(f"{'pause':>6}{'CPU ms':>10}{'ratio':>8}")
    first = 0.0
    for pause, ms in zip(pauses, measured(pauses), strict=True):
        first = first or ms
        print(f"{pause:>6}{ms:>10.1f}{ms / first:>7.2f}x", flush=True)


if __name__ == "__main__":
    main()
