"""Stopping a turn: at once while it is suspended, at its next write while it runs."""

from __future__ import annotations

import asyncio

import pytest
from django.contrib.auth.models import User

from approvals.access.standing import standing_of
from approvals.db import pool
from approvals.exceptions import NotAllowed
from approvals.models import AuditEntry, Decision, Workflow
from approvals.states import Door, Verdict
from chats import actions, queries
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Use
from chats.agent.tools import tool
from chats.engine import runner
from chats.models import Turn
from tests.support import people
from tests.support.chats import agents
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import (
    chunks,
    converse,
    decide,
    kinds,
    last_text,
    make_chat,
    model_history,
    only_request,
    reload,
    run,
    say,
    tool_parts,
)
from tests.support.desk.scopes import again, make_scope

pytestmark = pytest.mark.django_db(transaction=True)


def stop(turn, by) -> bool:
    return actions.stop_turn(turn.chat, by=by, via=Door.CHAT)


def test_stopping_a_suspended_turn_cancels_its_question():
    alice = people.alice()
    turn = converse(alice, "ask mixed")
    assert stop(turn, alice) is True
    turn = reload(turn)
    assert (turn.state, turn.stopped, turn.stopped_by, kinds(turn)) == ("stopped", True, "alice", ["partial", "final"])
    assert [p["state"] for p in tool_parts(turn)] == ["output-available", "output-error", "output-error"]
    assert list(Decision.objects.values_list("verdict", "by_name", "via")) == [("cancel", "alice", "stop")] * 2
    assert Workflow.objects.get().state == "cancelled"
    assert AuditEntry.objects.filter(event="turn.stopped", actor_name="alice").count() == 1


def test_the_next_message_continues_a_stopped_chat():
    alice = people.alice()
    turn = converse(alice, "ask")
    stop(turn, alice)
    turn = run(say(turn.chat, "hello"))
    assert (turn.state, turn.chat.messages.count()) == ("completed", 4)


def test_a_stop_cancels_an_approved_call_that_has_not_run():
    alice, bob = people.alice(), people.bob()
    turn = converse(alice, "approve refund")
    decide(only_request(turn), bob, Verdict.APPROVE)
    assert reload(turn).state == "queued"
    stop(turn, alice)
    call = turn.tool_calls.get()
    assert (reload(turn).state, call.state, call.attempt) == ("stopped", "cancelled", 0)
    assert run(turn).state == "stopped"


def test_a_queued_turn_stops_at_once():
    alice = people.alice()
    turn = say(make_chat(alice), "hello")
    stop(turn, alice)
    assert (run(turn).state, turn.steps.count()) == ("stopped", 0)


def test_a_stop_cuts_the_model_short_and_keeps_its_text(settings):
    settings.HITL_AGENTS = [agents.PATH]
    alice = people.alice()
    turn = say(make_chat(alice), "recite")

    async def story() -> None:
        cut = asyncio.Event()
        task = asyncio.create_task(runner.advance(turn.pk, cut))
        while not await pool.run(chunks, turn, "TextDelta"):
            await asyncio.sleep(0.01)
        await pool.run(stop, turn, alice)
        cut.set()
        await asyncio.wait_for(task, 60)

    asyncio.run(story())
    stopped = reload(turn)
    assert (stopped.state, stopped.finish_reason, kinds(turn)) == ("stopped", "other", ["final"])
    assert last_text(turn).startswith("This ")
    assert len(last_text(turn)) < len(agents.RECITAL)
    assert model_history(stopped)[-1].content == [{"type": "text", "text": last_text(turn)}]


@tool
def presses_stop() -> str:
    """Stops the turn that runs it without a notification, as if in another process."""
    turn = Turn.objects.select_related("chat__owner").get()
    return str(stop(turn, turn.chat.owner))


busybody = Agent(
    name="busybody",
    tools=(presses_stop,),
    script=[Conversation("go on", [[Use("presses_stop")] for _ in range(10)])],
)


def test_a_stop_in_another_process_takes_effect_at_the_next_write(settings):
    settings.HITL_AGENTS = [f"{__name__}.busybody"]
    turn = converse(people.alice(), "go on")
    assert (turn.state, turn.steps.count(), tool_parts(turn)[0]["output"]) == ("stopped", 2, "True")


def test_owners_and_approvers_may_stop_a_turn():
    alice, bob, carol = people.alice(), people.bob(), people.carol()
    turn = converse(alice, "ask")
    with pytest.raises(NotAllowed):
        stop(turn, carol)
    assert (stop(turn, bob), stop(turn, alice)) == (True, False)


def test_an_approver_whom_scopes_limit_stops_only_turns_of_their_own():
    alice, bob, root = people.alice(), people.bob(), User.objects.create_superuser("root")
    theirs, own = converse(alice, "ask"), converse(bob, "ask")
    make_scope(bob, by=root)
    with pytest.raises(NotAllowed):
        stop(theirs, again(bob))
    assert (reload(theirs).state, stop(own, again(bob)), stop(theirs, root)) == ("suspended", True, True)


def test_a_scope_that_comes_while_an_approver_has_a_chat_open_keeps_them_from_stopping_it():
    alice, bob, root = people.alice(), people.bob(), User.objects.create_superuser("root")
    turn = converse(alice, "ask")
    chat = queries.get_chat_for(standing_of(bob), turn.chat_id)
    make_scope(bob, by=root)
    with pytest.raises(NotAllowed):
        actions.stop_turn(chat, by=bob, via=Door.CHAT)
    assert reload(turn).state == "suspended"


def test_a_second_stop_of_a_running_turn_changes_nothing():
    turn = say(make_chat(people.alice()), "recite")
    claim_turn(turn.pk, owner="somebody")
    assert [stop(turn, turn.chat.owner) for _ in range(2)] == [True, False]
    assert AuditEntry.objects.filter(event="turn.stopped").count() == 1
