"""Measure the CPU of the web process for a pause of one turn, from its first pauses to its last.

    .venv/bin/python -m benchmarks.long_turn [--pauses 10 500] [--rounds 5] [--before PATH]

One turn of the scripted provider asks for an approval again and again; an AI SDK client approves each in its copy of the message,
over HTTP. One web process on PostgreSQL, which also runs the turn. A row has the means of the ten pauses up to it, one of each
round; the last column is the ratio to the first row in the same round, with its range: a pause should cost the same however long
its turn is. With `--before`, another checkout takes turns with this one.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise

from benchmarks.chat_client import ChatClient
from benchmarks.figures import Table, in_turns, ratio_in_turns
from benchmarks.load.costs import cpu
from benchmarks.stage import Stage, add_before, projects, stage
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
            [
                [Say("And one more order.", pause=0), Use("refund", {"order": order})]
                for order in range(MOST)
            ]
            + [[Say("Done.", pause=0)]],
        ),
    ),
    max_steps=MOST + 10,
)


def measured(installation: Stage, at: Sequence[int]) -> dict[str, float]:
    """Return the ms of CPU of one pause of a new turn at each of these, which grow in steps of ten or more."""
    (web,) = installation.webs
    client = ChatClient(installation.program())
    client.say("ask")
    taken = {}
    for before, last in pairwise([0, *at]):
        approve(client, last - before - WINDOW)
        began = cpu(web)
        approve(client, WINDOW)
        taken[f"pause {last}"] = (cpu(web) - began) / WINDOW * 1000
    return taken


def approve(client: ChatClient, times: int) -> None:
    for _ in range(times):
        client.approve()
        assert len(client.waiting) == 1, client.answer["parts"][-1]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--pauses", type=int, nargs="+", default=[10, 100, 500], help=f"at most {MOST}"
    )
    options.add_argument("--rounds", type=int, default=5, help="turns")
    add_before(options)
    given = options.parse_args()
    pauses = sorted(given.pauses)
    with ExitStack() as stack:
        measures = {}
        for name, project in projects(given.before).items():
            agents = "benchmarks.long_turn.asker"
            found = stack.enter_context(
                stage(workers=0, redis=False, project=project, HITL_AGENTS=agents)
            )
            # The first pauses import and compile.
            measured(found, [WINDOW])
            measures[name] = functools.partial(measured, found, pauses)
        every = in_turns(measures, given.rounds)
    for name, figures in every.items():
        table = Table(f"{name}: CPU of one pause", "ms", "ratio in each round")
        first = next(iter(figures.values()))
        for pause, taken in figures.items():
            table.row(pause, taken, ratio_in_turns(taken, first))


if __name__ == "__main__":
    main()
