"""Tools: schemas from typed functions, strict validation, and runs within limits."""

from __future__ import annotations

import asyncio
import threading
from datetime import date
from typing import Literal

import pytest

from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.tools import InvalidInput, ToolContext, ToolError, tool
from chats.checks import check_agents
from chats.engine.tool_calls import THREADS, ToolRun, run_tool

CONTEXT = ToolContext(tool_call_id="c1", chat_id="chat", user="alice", attempt=1, executions=3)


@tool
def book(day: date, seats: int = 1, kind: Literal["inside", "garden"] = "inside") -> str:
    """Book a table."""
    return f"{day} {seats} {kind}"


@tool
async def whoami(context: ToolContext, polite: bool = False) -> dict[str, object]:
    """Return the asking user."""
    return {"user": context.user, "executions": context.executions, "polite": polite}


def run(tool_, value, *, late=None):
    late_results: list[ToolRun] = []

    async def note(result: ToolRun) -> None:
        late_results.append(result)

    async def story():
        found = await run_tool(tool_, value, CONTEXT, late=note)
        if late is not None:
            late()
            while not late_results:
                await asyncio.sleep(0.01)
        return found, late_results

    return asyncio.run(asyncio.wait_for(story(), 60))


def test_a_typed_function_becomes_a_schema():
    schema = book.input_schema
    assert (schema["required"], schema["additionalProperties"]) == (["day"], False)
    assert schema["properties"]["kind"]["enum"] == ["inside", "garden"]
    assert (book.name, book.description, "context" in whoami.input_schema["properties"]) == (
        "book",
        "Book a table.",
        False,
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "day: Field required"),
        ({"day": "2026-11-21", "seats": "2"}, "seats: Input should be a valid integer"),
        ({"day": "soon"}, "day: Input should be a valid date"),
        ({"day": "2026-11-21", "kind": "roof"}, "kind: Input should be 'inside' or 'garden'"),
        ({"day": "2026-11-21", "more": 1}, "more: Extra inputs are not permitted"),
        ([], "Input should be an object"),
        (None, "Input should be an object"),
    ],
)
def test_input_is_checked_strictly(value, words):
    with pytest.raises(InvalidInput) as refused:
        book.validate(value)
    assert words in str(refused.value)


def test_sync_and_async_tools_get_their_input_and_context():
    assert run(book, {"day": "2026-11-21", "seats": 2})[0] == ToolRun(output="2026-11-21 2 inside")
    assert run(whoami, {})[0] == ToolRun(output={"user": "alice", "executions": 3, "polite": False})


def test_a_tool_error_reaches_the_model_without_a_traceback():
    @tool
    def fails(kindly: bool) -> None:
        """Fails."""
        raise ToolError("Out of stock.") if kindly else KeyError("password=hunter2")

    assert run(fails, {"kindly": True})[0] == ToolRun(error_text="Out of stock.")
    assert run(fails, {"kindly": False})[0] == ToolRun(
        error_text="fails failed (KeyError). The server's log has the details."
    )


def test_a_run_that_times_out_has_no_result_until_a_late_one_arrives():
    release = threading.Event()

    @tool(timeout=1)
    def slow() -> str:
        """Slow."""
        release.wait(60)
        return "done after all"

    assert run(slow, {}, late=release.set) == (None, [ToolRun(output="done after all")])


def test_a_tool_without_a_free_thread_is_not_started():
    release, started = threading.Event(), []

    @tool(timeout=60)
    def blocks() -> None:
        """Blocks."""
        started.append("blocks")
        release.wait(60)

    @tool(timeout=0.2)
    def waits() -> None:
        """Waits."""
        started.append("waits")

    async def ignore(_: ToolRun) -> None:
        raise AssertionError("nothing comes late here")

    async def story():
        blocked = [asyncio.create_task(run_tool(blocks, {}, CONTEXT, late=ignore)) for _ in range(THREADS)]
        while len(started) < THREADS:
            await asyncio.sleep(0.01)
        found = await run_tool(waits, {}, CONTEXT, late=ignore)
        release.set()
        await asyncio.gather(*blocked)
        return found

    found = asyncio.run(story())
    assert found.error_text == "waits was not started: all 8 threads for tools were busy. Try again later."
    assert started == ["blocks"] * THREADS


def test_an_agent_may_not_have_two_tools_with_one_name():
    with pytest.raises(ValueError, match="two tools have the same name"):
        Agent(name="twins", tools=(book, book))


@pytest.mark.parametrize("function", [lambda x: x, lambda *xs: xs])
def test_a_function_without_types_cannot_be_a_tool(function):
    with pytest.raises(TypeError):
        tool(function)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["support"], "is not a dotted path"),
        (["no.such.module"], "No module named 'no'"),
        (["chats.agent.demo.SCRIPT"], "is not an Agent"),
        (["chats.agent.demo.nobody"], "is not an Agent"),
        (["chats.agent.demo.support", "chats.agent.demo.support"], "another agent is also named 'support'"),
    ],
)
def test_the_check_names_the_agent_that_cannot_be_loaded(settings, paths, words):
    settings.HITL_AGENTS = paths
    (found,) = check_agents()
    assert (found.id, words in found.msg) == ("chats.E001", True)


def test_the_check_reports_a_provider_without_its_key(settings):
    settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY = "anthropic", ""
    assert [error.id for error in check_agents()] == ["chats.E002"]


def test_an_agent_that_is_not_listed_is_unknown():
    with pytest.raises(registry.UnknownAgent):
        registry.get(["chats.agent.demo.support"], "nobody")
