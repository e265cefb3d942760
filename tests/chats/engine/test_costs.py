"""How many statements and commits a chat takes, and that they stay the same as it grows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from approvals.db import pool
from approvals.states import Door, Verdict
from benchmarks.load.budgets import over
from benchmarks.load.chat_cycle import measure
from chats import actions, doorbell, queries
from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from chats.engine import jobs, ledger, streams
from chats.models import Chat, Turn
from chats.states import CHAT, TurnState
from tests.proofs.team.agents import AGENTS
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.turns import decide, last_text, make_chat, only_request, reload, run, say
from tests.support.machines import served

#: With transactions as they are in use: inside that of a test, each would be a savepoint.
pytestmark = pytest.mark.django_db(transaction=True)


@tool(idempotent=True)
def look_up(amount: int) -> str:
    """Look an amount up."""
    return f"{amount} is free"


@tool(needs_approval=True)
def book(amount: int) -> str:
    """Book an amount."""
    return f"booked {amount}"


clerk = Agent(
    name="clerk",
    tools=(look_up, book),
    script=(
        Conversation(
            r"^book",
            [
                [Say("A moment.", pause=0), Use("look_up", {"amount": 5})],
                [Say("It is free.", pause=0), Use("book", {"amount": 5})],
                [Say("Done: {answers}", pause=0)],
            ],
        ),
        Conversation(r"^recite", [[Say(" ".join(f"word{number}" for number in range(60)), pause=0)]]),
        Conversation(r".", [[Say("Good day.", pause=0)]]),
    ),
)


#: The cost limit of each part of a cycle. Its commits: message; claim, step, result, step and pause; decision, resumption; claim,
#: result, step and end.
COMMITS = {"message": 1, "run to the pause": 3, "decision": 2, "run to the end": 3}
STATEMENTS = {"message": 6, "run to the pause": 30, "decision": 18, "run to the end": 27}


@dataclass
class Cost:
    statements: int = 0
    commits: int = 0


@pytest.fixture
def chat(settings, monkeypatch) -> Chat:
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    # On a slow machine, events would also be stored between two commits.
    monkeypatch.setattr(ledger, "FLUSH_EVERY", 1000.0)
    return make_chat(people.alice())


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cost]:
    """Count the statements sent to the database on any thread."""
    found = Cost()
    execute, commit = CursorWrapper._execute_with_wrappers, BaseDatabaseWrapper._commit

    def counting(self: Any, sql: str, *args: Any, **kwargs: Any) -> Any:
        # A thread may open its connection here.
        found.statements += not sql.startswith("PRAGMA")
        return execute(self, sql, *args, **kwargs)

    def committing(self: Any) -> Any:
        found.commits += 1
        return commit(self)

    with monkeypatch.context() as patched:
        patched.setattr(CursorWrapper, "_execute_with_wrappers", counting)
        patched.setattr(BaseDatabaseWrapper, "_commit", committing)
        yield found


def costs_of(monkeypatch: pytest.MonkeyPatch, *works: Callable[[Any], Any]) -> list[Cost]:
    """Return the cost of each work, which gets the result of the previous one."""
    found: list[Cost] = []
    result: Any = None
    for work in works:
        with counted(monkeypatch) as cost:
            result = work(result)
        found.append(cost)
    return found


def cycle(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> dict[str, Cost]:
    """Return the cost of each part of a cycle."""
    turns = []
    bob = User.objects.filter(username="bob").first() or people.bob()
    found = costs_of(
        monkeypatch,
        lambda _: turns.append(say(chat, "book it")),
        lambda _: run(turns[0]),
        lambda _: decide(only_request(turns[0]), bob, Verdict.APPROVE),
        lambda _: run(turns[0]),
    )
    assert run(turns[0]).state == "completed"
    return dict(zip(COMMITS, found, strict=True))


def test_a_cycle_keeps_to_its_budget(chat, monkeypatch):
    found = cycle(chat, monkeypatch)
    assert over(COMMITS, {name: cost.commits for name, cost in found.items()}) == {}
    assert over(STATEMENTS, {name: cost.statements for name, cost in found.items()}) == {}


def test_a_new_chat_is_stored_with_its_title(chat, monkeypatch):
    owner, agent = chat.owner, clerk

    def begin(_: Any) -> Turn:
        with transaction.atomic():
            new, created = actions.find_or_create_chat(owner=owner, agent=agent, public_id="new", text="Good day")
            return actions.add_user_message(
                new, "m1", ["Good day"], by=owner, agent=agent, via=Door.AI_SDK, new=created
            )

    (cost,) = costs_of(monkeypatch, begin)
    assert over({"message": 5}, {"message": cost.statements}) == {}
    assert [each.title for each in Chat.objects.exclude(pk=chat.pk)] == ["Good day"]


def test_a_text_takes_two_commits_after_its_message(chat, monkeypatch):
    said, ran = costs_of(monkeypatch, lambda _: say(chat, "hello"), run)
    assert over({"message": 1, "run": 2}, {"message": said.commits, "run": ran.commits}) == {}
    assert over({"message": 6, "run": 16}, {"message": said.statements, "run": ran.statements}) == {}


def test_a_cycle_costs_the_same_as_its_chat_grows(chat, monkeypatch):
    cycle(chat, monkeypatch)
    second = cycle(chat, monkeypatch)
    for _ in range(4):
        cycle(chat, monkeypatch)
    assert cycle(chat, monkeypatch) == second


def test_a_cycle_takes_seven_commits_where_the_process_claims_itself(chat, monkeypatch):
    """Message with claim; step; result and pause; decision; continuation with start; result; end."""
    bob = people.bob()

    async def story() -> Turn:
        turn = await pool.run(say, chat, "book it")
        await until(turn, TurnState.SUSPENDED)
        await pool.run(decide, await pool.run(only_request, turn), bob, Verdict.APPROVE)
        await until(turn, TurnState.COMPLETED)
        return turn

    with counted(monkeypatch) as cost:
        turn = served(story)
    assert over({"cycle": 7}, {"cycle": cost.commits}) == {}
    assert (last_text(turn), reload(turn).attempt) == ("Done: booked 5", 2)


async def until(turn: Turn, state: TurnState) -> None:
    while not await Turn.objects.filter(pk=turn.pk, state=state).aexists():
        await asyncio.sleep(0.01)


def test_a_cycle_of_an_ai_sdk_client_keeps_to_its_budget(settings, monkeypatch):
    """Over HTTP. Four more of each than on a quiet machine, where no follower falls behind and reads rows."""
    settings.HITL_AGENTS = [AGENTS]
    User.objects.create_superuser("approver")
    # On a slow machine, events would also be stored between two commits.
    monkeypatch.setattr(ledger, "FLUSH_EVERY", 1000.0)
    statements = 40 if connection.vendor == "postgresql" else 51
    budget = {"hops to another thread": 12, "tasks": 16, "statements": statements, "commits": 6}
    assert over(budget, measure(2)) == {}


def test_no_one_looks_for_the_turn_that_an_ai_sdk_client_has_continued(monkeypatch):
    ended = {"request_id": uuid4(), "source": CHAT}
    ai_sdk, page = costs_of(
        monkeypatch,
        lambda _: jobs.on_decided(None, **ended, via=Door.AI_SDK),
        lambda _: jobs.on_decided(None, **ended, via=Door.DASHBOARD),
    )
    assert (ai_sdk.statements, page.statements) == (0, 1)


def test_who_follows_a_run_of_this_process_from_its_start_reads_no_rows(monkeypatch):
    closing = (6, events.TurnPaused())

    async def story() -> list[streams.Numbered]:
        streams.begin(1, 5)
        follower = asyncio.create_task(collect(1, after=5))
        await asyncio.sleep(0)
        streams.publish(1, [closing])
        return await follower

    with counted(monkeypatch) as cost:
        assert asyncio.run(story()) == [closing]
    assert cost == Cost()


async def collect(turn_id: int, after: int) -> list[streams.Numbered]:
    return [numbered async for numbered in streams.follow(turn_id, after)]


def test_the_number_of_words_changes_no_cost(chat, monkeypatch):
    run(say(chat, "hello"))
    short, long = (costs_of(monkeypatch, lambda _, text=text: say(chat, text), run) for text in ("hello", "recite"))
    assert short == long


def test_a_caller_reads_its_chat_once_while_its_sub_agent_works(settings, monkeypatch):
    settings.HITL_AGENTS = [agents.BOSS]
    monkeypatch.setattr(streams, "POLL", 0.001)
    checks: Counter[int] = Counter()
    reads: Counter[int] = Counter()
    check, read = queries.sub_agent_turns, queries.progress_of

    def checking(turn_id: int) -> dict[str, list[int]]:
        checks[turn_id] += 1
        return check(turn_id)

    def reading(turn: Turn) -> queries.Progress:
        reads[turn.pk] += 1
        return read(turn)

    monkeypatch.setattr(queries, "sub_agent_turns", checking)
    monkeypatch.setattr(queries, "progress_of", reading)
    turn = say(make_chat(people.alice()), "accountant recite")

    async def story() -> None:
        doorbell.notify_queued(turn.pk)
        while checks[turn.pk] < 2:
            await asyncio.sleep(0.01)
        before = reads[turn.pk]
        while checks[turn.pk] < 20:
            await asyncio.sleep(0.01)
        assert reads[turn.pk] == before
        await pool.run(actions.stop_turn, turn.chat, by=turn.chat.owner, via=Door.CHAT)
        while await Turn.objects.filter(ended_at=None).aexists():
            await asyncio.sleep(0.01)

    served(story)
    assert reload(turn).state == TurnState.STOPPED
