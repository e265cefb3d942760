"""Measure Pausepoint beside LangGraph and DBOS: cycles per second, in turns, on one PostgreSQL with fsync.

    .venv/bin/python -m benchmarks.peers [--quick] [--rounds 14] [--at-once 1 8] [--before PATH]

LangGraph and DBOS are installed into environments of their own in .venv-peers, which needs the network the first time. In each
round, each contender has one batch, in an order that changes, so that noise of the machine hits all alike. A row has the
median of its batches, and the median and the range of its ratios to the first row in the same round: at 0.50x, it makes half as
many cycles per second. Afterwards, commits and statements of one cycle are counted, without a second client. Clients, servers
and PostgreSQL share the machine. `--before` lets another checkout of Pausepoint compete too.

The first row is the least that LangGraph needs to ask a person: a graph that interrupts and acts. The other cycle is a message,
an idempotent tool, a pause, the decision, the approved tool and a last text. LangGraph and DBOS are libraries that run it inside
the process of the client. Pausepoint runs it in a server, over HTTP with keys, with permissions, an audit log, a search index
and an Inbox; over REST the agent runs elsewhere: it asks, may wait for the decision with a long poll, and may report.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.figures import ratio_in_turns
from benchmarks.peers.contenders import Contender, ours, rival
from benchmarks.peers.counting import SETTINGS, Counts, counted, prepare
from benchmarks.stage import add_before, postgresql, projects, stage

#: Cycles per second of each batch, by contender and number of clients.
Rates = dict[tuple[str, int], list[float]]

INSIDE = """
from benchmarks.load.chat_cycle import measure
print(", ".join(f"{count:.0f} {name}" for name, count in measure(10).items()), end="")
"""


def measured(
    contenders: Sequence[Contender], rounds: int, at_once: Sequence[int], cycles: int
) -> Rates:
    """Let the contenders take turns. A batch has at least so many cycles, and two of each client."""
    rates: Rates = {
        (contender.name, clients): [] for contender in contenders for clients in at_once
    }
    for number in range(rounds):
        first = number % len(contenders)
        for clients in at_once:
            each = max(2, cycles // clients)
            for contender in [*contenders[first:], *contenders[:first]]:
                rates[contender.name, clients].append(
                    clients * each / contender.batch(clients, each)
                )
    return rates


def table(rates: Rates, counts: dict[str, Counts]) -> str:
    """Return the table in Markdown. Ratios and counts are also true elsewhere; cycles per second only on this machine."""
    names, at_once = list(counts), sorted({clients for _, clients in rates})
    heads = [
        "",
        *(f"{clients} at once: ratio | cycles/s" for clients in at_once),
        "commits",
        "statements",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|---" * (2 * len(at_once) + 3) + "|"]
    for name in names:
        cells = [name]
        for clients in at_once:
            own, base = rates[name, clients], rates[names[0], clients]
            cells += [ratio_in_turns(own, base), f"{statistics.median(own):.1f}"]
        cells += [str(count) for count in counts[name]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rounds", type=int, default=14)
    options.add_argument("--cycles", type=int, default=32, help="of one batch")
    options.add_argument(
        "--at-once", type=int, nargs="+", default=[1, 8], help="clients"
    )
    options.add_argument(
        "--quick",
        action="store_true",
        help="3 rounds of 8 cycles, to see that it works",
    )
    add_before(options)
    given = options.parse_args()
    rounds, cycles = (3, 8) if given.quick else (given.rounds, given.cycles)
    clients = max(given.at_once)
    with ExitStack() as stack:
        cluster = stack.enter_context(postgresql(**SETTINGS))
        prepare(cluster)
        contenders: list[Contender] = [
            stack.enter_context(
                rival(
                    "LangGraph, lean", "langgraph", "langgraph_lean", cluster, clients
                )
            ),
            stack.enter_context(
                rival("LangGraph", "langgraph", "langgraph_agent", cluster, clients)
            ),
            stack.enter_context(rival("DBOS", "dbos", "dbos_agent", cluster, clients)),
        ]
        stages = {
            name: stack.enter_context(
                stage(workers=0, redis=False, cluster=cluster, project=project)
            )
            for name, project in projects(given.before).items()
        }
        for name, installation in stages.items():
            contenders += ours(
                installation,
                clients,
                "Pausepoint" if name == "now" else f"Pausepoint {name}",
            )
        # The first batch connects, imports and compiles.
        measured(contenders, 1, given.at_once, cycles)
        rates = measured(contenders, rounds, given.at_once, cycles)
        counts = {
            contender.name: counted(cluster, contender, 20) for contender in contenders
        }
        inside = stages["now"].site.run(INSIDE)
    print(table(rates, counts))
    print(f"\nA chat cycle in Pausepoint: {inside}")


if __name__ == "__main__":
    main()
