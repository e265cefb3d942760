"""Results that arrive after a tool's time limit settle the request about the outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from approvals.db import pool
from approvals.models import AuditEntry, Decision
from approvals.states import Verdict
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import ToolContext, ToolError, tool
from chats.engine import runner, tool_calls
from chats.models import Turn
from chats.queries import open_requests
from tests.support import people
from tests.support.chats.claims import claim_turn
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
def late(context: ToolContext) -> str:
    """Exceeds its limit."""
    seen.append(context.attempt)
    release.wait(60)
    return "done after all"


@tool(timeout=1)
def late_once(context: ToolContext) -> str:
    """Exceeds its limit when it runs for the first time."""
    if context.attempt > 1:
        return "done again"
    release.wait(60)
    return "done after all"


@tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


@tool(timeout=1)
def fails_late(context: ToolContext) -> str:
    """Exceeds its limit and fails."""
    seen.append(context.attempt)
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
    tools=(late, late_once, fails_late, hangs, pay),
    script=[
        *(Conversation(f"^{name}$", one(name)) for name in ("late", "late_once", "fails_late", "hangs")),
        *(
            Conversation(f"^{name} and pay$", [[Use(name), Use("pay")], [Say("{answers}.", pause=0)]])
            for name in ("late", "fails_late")
        ),
    ],
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
        paused = await pool.run(snapshot)
        release.set()
        while await pool.run(open_requests, turn):
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
    turn, bob = say(make_chat(people.alice()), "late_once"), people.bob()

    async def story() -> None:
        await runner.advance(turn.pk, asyncio.Event())
        (question,) = await pool.run(open_requests, turn)
        await pool.run(decide, question, bob, Verdict.APPROVE)
        await runner.advance(turn.pk, asyncio.Event())
        await let_late_results_arrive()

    asyncio.run(asyncio.wait_for(story(), 60))
    call = turn.tool_calls.get()
    assert (reload(turn).state, call.state, call.attempt, call.output) == ("completed", "succeeded", 2, "done again")
    assert results_on_record(turn) == {call.tool_call_id: 1}


async def let_late_results_arrive() -> None:
    release.set()
    await asyncio.gather(*tool_calls._late_runs)


def to_run_again(text: str, then: Callable[[Turn], Awaitable[None]]) -> Turn:
    """Return a turn after `then`, which begins when a person has decided to run its late call again.

    The turn then still waits for the approval of a payment.
    """
    turn, bob = say(make_chat(people.alice()), text), people.bob()

    async def story() -> None:
        await runner.advance(turn.pk, asyncio.Event())
        (question,) = [each for each in await pool.run(open_requests, turn) if each.kind == "recovery"]
        await pool.run(decide, question, bob, Verdict.APPROVE)
        await then(turn)

    asyncio.run(asyncio.wait_for(story(), 60))
    return reload(turn)


def approve_payment(turn: Turn) -> str:
    (payment,) = open_requests(turn)
    decide(payment, people.User.objects.get(username="bob"), Verdict.APPROVE)
    return reload(turn).state


async def before_the_approval(turn: Turn) -> None:
    await let_late_results_arrive()
    assert await pool.run(approve_payment, turn) == "queued"


async def after_the_approval(turn: Turn) -> None:
    assert await pool.run(approve_payment, turn) == "queued"
    await let_late_results_arrive()


@pytest.mark.parametrize("when", [before_the_approval, after_the_approval])
@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("late and pay", "succeeded", "done after all and paid."),
        ("fails_late and pay", "failed", "The bank said no. and paid."),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_late_result_of_a_call_that_is_to_run_again_prevents_the_second_run(text, state, words, when):
    turn = run(to_run_again(text, when))
    call = turn.tool_calls.earliest("id")
    assert (turn.state, call.state, call.attempt, last_text(turn)) == ("completed", state, 1, words)
    assert seen == [1]
    assert set(results_on_record(turn).values()) == {1}
    reports = [chunk["tool_call_id"] for event in ("ToolSucceeded", "ToolFailed") for chunk in chunks(turn, event)]
    assert sorted(reports) == sorted(turn.tool_calls.values_list("tool_call_id", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_late_result_is_refused_while_a_runner_may_start_the_call_again():
    async def while_a_runner_has_the_turn(turn: Turn) -> None:
        await pool.run(approve_payment, turn)
        await pool.run(claim_turn, turn.pk, owner="somebody")
        await let_late_results_arrive()

    turn = to_run_again("late and pay", while_a_runner_has_the_turn)
    call = turn.tool_calls.earliest("id")
    assert (turn.state, call.state, call.attempt, call.output) == ("running", "ready", 1, None)
