"""Tools on threads and loops, and runs that end late, in an unusual way, or not at all; with the real runner."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest
from django.db import connections

from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import ToolContext, ToolError, tool
from chats.engine.tool_calls import THREADS, ToolRun, run_tool
from tests.support import people
from tests.support.chats.turns import (
    make_chat,
    run,
    say,
)

CONTEXT = ToolContext(tool_call_id="c1", chat_id="chat", user="alice", attempt=1, executions=1)
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _clean(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    seen.clear()


@tool
def where() -> str:
    """Which thread a sync tool runs on."""
    return threading.current_thread().name


@tool
async def where_async() -> str:
    """Which thread an async tool runs on."""
    return threading.current_thread().name


@tool
def context_of(context: ToolContext) -> None:
    """Notes its context."""
    seen.append(context)


@tool(timeout=60)
def exhausted() -> str:
    """Takes the first of nothing."""
    return next(iter([]))


@tool
def leaves() -> None:
    """Ends the program."""
    sys.exit(3)


@tool
async def leaves_async() -> None:
    """Ends the program, too."""
    sys.exit(3)


@tool
def silent() -> None:
    """Fails without a word."""
    raise ToolError


@tool
def round_and_round() -> list[Any]:
    """Holds itself."""
    ring: list[Any] = []
    ring.append(ring)
    return ring


@tool
def raw() -> bytes:
    """No text."""
    return b"\xff\xfe"


@tool
def enormous() -> int:
    """More than JSON can hold."""
    return 2**70


@tool
def dirty() -> str:
    """Return a value that no database can hold."""
    return "a\x00b\ud800c"


clerk = Agent(
    name="clerk",
    tools=(context_of,),
    script=[Conversation("^context_of$", [[Use("context_of")], [Say("It says: {answers}", pause=0)]])],
)


def result_of(tool_) -> ToolRun | None:
    async def never(_: ToolRun) -> None:
        raise AssertionError("nothing comes late here")

    async def story() -> ToolRun | None:
        # An exception that escapes the task would end the loop, and with it the server.
        return await asyncio.create_task(run_tool(tool_, {}, CONTEXT, late=never))

    return asyncio.run(story())


def test_sync_tools_run_in_tool_threads_and_async_tools_on_the_loop():
    assert str(result_of(where).output).startswith("pausepoint-tool_")
    assert result_of(where_async) == ToolRun(output=threading.current_thread().name)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (exhausted, "exhausted failed (RuntimeError). The server's log has the details."),
        (leaves, "leaves failed (SystemExit). The server's log has the details."),
        (leaves_async, "leaves_async failed (SystemExit). The server's log has the details."),
        (silent, "silent failed."),
        (round_and_round, "round_and_round ran, but its result cannot be kept: Circular reference detected"),
        (raw, "raw ran, but its result cannot be kept: 'utf-8' codec can't decode byte 0xff"),
        (enormous, "enormous ran, but its result cannot be kept: an integer is larger than 2^53"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_broken_tool_results_in_an_error_text(broken, words):
    found = result_of(broken)
    assert (found.output, found.error_text[: len(words)]) == (None, words)


def test_characters_that_no_database_can_store_are_replaced_in_an_output():
    assert result_of(dirty) == ToolRun(output="a\ufffdb\ufffdc")


def test_tools_wait_for_a_free_thread():
    running: list[int] = []
    most: list[int] = []
    lock, full = threading.Lock(), threading.Event()

    @tool
    def counts() -> None:
        """Counts how many of it run."""
        with lock:
            running.append(1)
            most.append(len(running))
        if len(most) >= THREADS:
            full.set()
        assert full.wait(60)
        with lock:
            running.pop()

    async def ignore(_: ToolRun) -> None:
        raise AssertionError("nothing comes late here")

    async def story():
        return await asyncio.gather(*(run_tool(counts, {}, CONTEXT, late=ignore) for _ in range(3 * THREADS)))

    assert asyncio.run(story()) == [ToolRun()] * 3 * THREADS
    assert (len(most), max(most)) == (3 * THREADS, THREADS)


@pytest.mark.django_db(transaction=True)
def test_a_tool_that_reads_the_database_leaves_no_connection_open():
    people.alice()
    left: list[Any] = []

    @tool
    def reads() -> int:
        """Reads the database."""
        left.append(connections["default"])
        return people.User.objects.count()

    assert result_of(reads) == ToolRun(output=1)
    assert [connection.connection for connection in left] == [None]


@pytest.mark.django_db(transaction=True)
def test_the_tool_context_names_the_user_the_chat_and_the_executions():
    chat = make_chat(people.alice(), "my trip")
    turns = [run(say(chat, "context_of")) for _ in range(2)]
    assert seen == [
        ToolContext(
            tool_call_id=turn.tool_calls.get().tool_call_id,
            chat_id="my trip",
            user="alice",
            attempt=1,
            executions=number,
        )
        for number, turn in enumerate(turns, 1)
    ]
