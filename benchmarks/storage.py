"""Measure the bytes that PostgreSQL stores for a pause: a chat with a hundred of them, and a hundred requests over REST.

    .venv/bin/python -m benchmarks.storage [--pauses 100] [--indexes]

The chat is one turn of the scripted provider that asks for approval a hundred times, with 1.8 kB of message per pause. Over
REST, a program asks, a key of somebody else approves, and the program reports the result. Each table has the bytes by which
its heap, TOAST and indexes grew, divided by the pauses. Nothing is vacuumed before measuring; "rewritten" is what VACUUM FULL
leaves of the whole database. The ratio is to the bytes of the messages, or of what was sent and answered over REST.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from benchmarks.load.program import ASK, Program
from benchmarks.stage import Stage, stage
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from tests.support.root import ROOT

#: How many pauses the scripted chats have.
SIZES_OF_CHATS = (1, 10, 100)
WORDS = (ROOT / "docs" / "architecture.md").read_text().split()
NOTE = "Refund the two broken cups and the delivery, as the terms say for deliveries that are more than a week late. "


@tool(needs_approval=True)
def refund(order: int, amount: int, note: str) -> str:
    """Pay part of an order back."""
    return f"Refunded {amount} of order {order}. {note}"


def words(number: int, seed: int) -> str:
    """Return so many words in no order, which a database cannot compress better than what a model says."""
    return " ".join(random.Random(seed).choices(WORDS, k=number))  # noqa: S311 - not a secret


def asks(number: int) -> list[list[Say | Use]]:
    """Return so many steps that each say something else and ask for an approval."""
    return [
        [
            Say(words(130, place), pause=0),
            Use("refund", {"order": place, "amount": 120, "note": words(55, -place)}),
        ]
        for place in range(1, number + 1)
    ]


asker = Agent(
    name="asker",
    tools=(refund,),
    script=tuple(
        Conversation(
            f"ask {number} times", [*asks(number), [Say("Thank you.", pause=0)]]
        )
        for number in SIZES_OF_CHATS
    ),
    max_steps=max(SIZES_OF_CHATS) + 10,
)
CHAT = """
import json
from django.contrib.auth.models import User
from approvals.states import Verdict
from chats.models import Message
from tests.support.chats.turns import converse, decide, kinds, only_request, run
owner, decider = User.objects.get(username="requester"), User.objects.get(username="approver")
turn = converse(owner, "ask {pauses} times")
for _ in range({pauses}):
    decide(only_request(turn), decider, Verdict.APPROVE)
    turn = run(turn)
assert kinds(turn) == ["partial"] * {pauses} + ["final"]
print(sum(len(json.dumps(row.parts, ensure_ascii=False).encode()) for row in Message.objects.filter(chat=turn.chat_id)))
"""
SIZES = b"""
SELECT c.relname, pg_relation_size(c.oid), coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0),
       pg_indexes_size(c.oid), pg_relation_size(c.oid, 'fsm') + pg_relation_size(c.oid, 'vm')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public'
"""
INDEXES = b"""
SELECT relname || '.' || indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes WHERE schemaname = 'public'
"""
UPDATES = b"SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'public'"


@dataclass(frozen=True, slots=True)
class State:
    """The size of a database at one moment."""

    tables: dict[str, tuple[int, ...]]
    indexes: dict[str, int]
    updates: dict[str, tuple[int, int]]
    #: Bytes of write-ahead log so far.
    log: int

    @property
    def total(self) -> int:
        return sum(sum(sizes) for sizes in self.tables.values())


def state_of(connection: psycopg.Connection[tuple[object, ...]]) -> State:
    tables = {
        str(name): tuple(map(int, sizes)) for name, *sizes in _rows(connection, SIZES)
    }
    indexes = {str(name): int(size) for name, size in _rows(connection, INDEXES)}
    updates = {
        str(name): (int(every), int(hot))
        for name, every, hot in _rows(connection, UPDATES)
    }
    ((log,),) = _rows(
        connection, b"SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"
    )
    return State(tables, indexes, updates, int(log))


def _rows(
    connection: psycopg.Connection[tuple[object, ...]], statement: bytes
) -> list[tuple[str, ...]]:
    return [*connection.execute(statement).fetchall()]  # type: ignore[list-item]  # the caller knows the columns


def report(
    title: str, before: State, after: State, pauses: int, sent: int, *, indexes: bool
) -> None:
    """Print what each table grew by per pause, the largest first."""
    print(
        f"\n{title + ', bytes per pause':<44}{'heap':>9}{'TOAST':>9}{'indexes':>9}{'all':>9}{'updates':>9}{'HOT':>6}"
    )
    grown = {
        name: [now - then for now, then in zip(sizes, before.tables[name], strict=True)]
        for name, sizes in after.tables.items()
    }
    for name, (heap, toast, index, maps) in sorted(
        grown.items(), key=lambda item: -sum(item[1])
    ):
        updates, hot = (
            now - then
            for now, then in zip(after.updates[name], before.updates[name], strict=True)
        )
        if heap + toast + index + maps or updates:
            cells = [
                one / pauses
                for one in (heap + maps, toast, index, heap + maps + toast + index)
            ]
            row = (
                "".join(f"{cell:>9,.0f}" for cell in cells)
                + f"{updates / pauses:>9.1f}{hot / pauses:>6.1f}"
            )
            print(f"{name:<44}{row}")
    total = sum(sum(sizes) for sizes in grown.values())
    print(f"{'sum':<71}{total / pauses:>9,.0f}")
    print(f"{'the messages themselves':<71}{sent / pauses:>9,.0f}")
    print(f"{'write-ahead log':<71}{(after.log - before.log) / pauses:>9,.0f}")
    print(f"{'ratio':<71}{total / sent:>8.1f}x   ({total:,} bytes for {sent:,})")
    for name, size in (
        sorted(after.indexes.items(), key=lambda item: -item[1]) if indexes else ()
    ):
        if size > before.indexes[name]:
            print(f"  {name:<80}{(size - before.indexes[name]) / pauses:>9,.0f}")


def chat(found: Stage, pauses: int) -> int:
    """Run the chat; return the bytes of its messages."""
    return int(found.site.run(CHAT.format(pauses=pauses)).splitlines()[-1])


def in_a_chat(pauses: int) -> tuple[int, int]:
    """Return the bytes by which a chat of so many pauses made the database grow, and those of its messages."""
    with stage(workers=0, redis=False, HITL_AGENTS="benchmarks.storage.asker") as found:
        # The measuring process runs the turn itself.
        found.site.stop()
        with psycopg.connect(found.url, autocommit=True) as connection:
            before = state_of(connection)
            sent = chat(found, pauses)
            return state_of(connection).total - before.total, sent


def rest(found: Stage, pauses: int) -> int:
    """Ask, decide and report; return the bytes sent."""
    program = Program(found.site.serve(), found.key, found.decider)
    for number in range(pauses):
        asked = program.ask(message=NOTE, tool_call_id=f"call-{number}")
        program.approve(asked["id"])
        program.report(asked)
    program.close()
    found.site.stop()
    bodies = [
        ASK | {"message": NOTE, "tool_call_id": "call-10"},
        {"verdict": "approve"},
        {"output": {"refunded": True}},
    ]
    return pauses * sum(len(json.dumps(body)) for body in bodies)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--pauses", type=int, default=100, choices=SIZES_OF_CHATS)
    options.add_argument(
        "--indexes", action="store_true", help="also print each index that grew"
    )
    given = options.parse_args()
    parts: dict[str, Callable[[Stage, int], int]] = {
        "a chat": chat,
        "requests over REST": rest,
    }
    with stage(workers=0, redis=False, HITL_AGENTS="benchmarks.storage.asker") as found:
        # The measuring process runs the turn itself.
        found.site.stop()
        with psycopg.connect(found.url, autocommit=True) as connection:
            for title, play in parts.items():
                before = state_of(connection)
                sent = play(found, given.pauses)
                connection.execute(b"SELECT pg_stat_clear_snapshot()")
                report(
                    title,
                    before,
                    state_of(connection),
                    given.pauses,
                    sent,
                    indexes=given.indexes,
                )
            total = state_of(connection).total
            connection.execute(b"VACUUM FULL")
            rewritten = state_of(connection).total
            print(
                f"\nThe whole database: {total:,} bytes; rewritten by VACUUM FULL: {rewritten:,}."
            )


if __name__ == "__main__":
    main()
