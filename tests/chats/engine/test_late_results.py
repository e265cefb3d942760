"""Results that arrive after a tool's time limit settle the request about the outcome."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from approvals.models import AuditEntry, Decision
from approvals.runtime import database
from approvals.states import Verdict
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import ToolContext, ToolError, tool
from chats.engine import runner
from chats.models import Turn
from chats.queries import open_requests
from tests.support import people
from tests.support.chats.turns import (
    chunks,
    converse,
    decide,
    kinds,
    last_text,
    make_chat,
    reload,
    results_on_record,
    run,
    say,
    tool_parts,
)

release = threading.Event()
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _clean(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    release.clear()
    seen.clear()
    yield
    release.set()


@tool(timeout=1)
def late() -> str:
    """Exceeds its limit."""
    release.wait(60)
    return "done after all"


@tool(timeout=1)
def fails_late() -> str:
    """Exceeds its limit and fails."""
    release.wait(60)
    raise ToolError("The bank said no.")


@tool(timeout=0.05, idempotent=True)
async def hangs(context: ToolContext) -> None:
    """Never returns in time."""
    seen.append((context.tool_call_id, context.attempt, context.executions))
    await asyncio.sleep(1)


def one(name: str) -> list[list[Say | Use]]:
    return [[Use(name)], [Say("It says: {answers}", pause=0)]]


clerk = Agent(
    name="clerk",
    tools=(late, fails_late, hangs),
    script=[Conversation(f"^{name}$", one(name)) for name in ("late", "fails_late", "hangs")],
)


def paused_and_released(text: str) -> tuple[Turn, tuple[str, str, list[str]]]:
    """Return a turn whose tool returns only after its outcome was asked for, and its state at that pause.

    As in the server, the loop runs on after the pause and receives the late result.
    """
    turn = say(make_chat(people.alice()), text)

    def snapshot() -> tuple[str, str, list[str]]:
        (question,) = open_requests(turn)
        return reload(turn).state, question.kind, list(turn.tool_calls.values_list("state", flat=True))

    async def story() -> tuple[str, str, list[str]]:
        await runner.advance(turn.pk, asyncio.Event())
        paused = await database.run(snapshot)
        release.set()
        while await database.run(open_requests, turn):
            await asyncio.sleep(0.01)
        return paused

    paused = asyncio.run(asyncio.wait_for(story(), 60))
    return run(turn), paused


@pytest.mark.django_db(transaction=True)
def test_a_late_result_settles_the_recovery_of_a_run_that_timed_out():
    turn, paused = paused_and_released("late")
    assert paused == ("suspended", "recovery", ["unknown"])
    call, decision = turn.tool_calls.get(), Decision.objects.get()
    assert (call.state, call.output, call.attempt) == ("succeeded", "done after all", 1)
    assert (decision.verdict, decision.answer, decision.by_name, decision.via) == (
        "respond",
        "done after all",
        "",
        "system",
    )
    assert (turn.state, last_text(turn), kinds(turn)) == (
        "completed",
        "It says: done after all",
        ["partial", "final"],
    )
    assert results_on_record(turn) == {call.tool_call_id: 1}


@pytest.mark.django_db(transaction=True)
def test_a_late_error_fails_the_call():
    turn, paused = paused_and_released("fails_late")
    assert paused == ("suspended", "recovery", ["unknown"])
    decision = Decision.objects.get()
    assert (decision.verdict, decision.answer, decision.comment) == (
        "reject",
        None,
        "The tool's own result arrived late: The bank said no.",
    )
    assert (turn.state, turn.tool_calls.get().state, last_text(turn)) == (
        "completed",
        "failed",
        "It says: The bank said no.",
    )


@pytest.mark.django_db(transaction=True)
def test_an_idempotent_tool_fails_after_three_runs_with_the_same_id():
    turn = converse(people.alice(), "hangs")
    (part,) = tool_parts(turn)
    call_id = part["toolCallId"]
    words = "hangs did not end within its time limit, in 3 tries."
    assert seen == [(call_id, 1, 1), (call_id, 2, 2), (call_id, 3, 3)]
    assert (turn.state, part["state"], part["errorText"]) == ("completed", "output-error", words)
    assert results_on_record(turn) == {call_id: 1}
    assert AuditEntry.objects.get(event="tool.result").data["executions"] == 3
    failures = chunks(turn, "ToolFailed")
    assert [(chunk["tool_call_id"], chunk["error_text"]) for chunk in failures] == [(call_id, words)]


@pytest.mark.django_db(transaction=True)
def test_a_person_may_run_a_call_again_while_the_first_run_hangs():
    turn, bob = say(make_chat(people.alice()), "late"), people.bob()

    async def story() -> None:
        await runner.advance(turn.pk, asyncio.Event())
        (question,) = await database.run(open_requests, turn)
        await database.run(decide, question, bob, Verdict.APPROVE)
        release.set()
        await runner.advance(turn.pk, asyncio.Event())

    asyncio.run(asyncio.wait_for(story(), 60))
    call = turn.tool_calls.get()
    assert (reload(turn).state, call.state, call.attempt) == ("completed", "succeeded", 2)
    assert results_on_record(turn) == {call.tool_call_id: 1}
