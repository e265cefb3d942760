"""Sub-agents: their requests are shown at the top and resume below, and a stop at the top reaches them all."""

from __future__ import annotations

import asyncio

import pytest
from django.contrib.auth.models import User
from django.db.models import Q

from approvals import actions as desk
from approvals import signals
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.db import pool
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.states import Door, Verdict
from chats import actions, doorbell, queries
from chats.agent import registry
from chats.engine import jobs, sweep
from chats.models import Chat, ToolCall, Turn, TurnCheckpoint
from chats.states import TurnState
from tests.support.chats import agents
from tests.support.chats.turns import make_chat, reload, say
from tests.support.machines import served
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db(transaction=True)

#: How a card names its position among the sub-agents.
PATH = "clerk \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} accountant \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} askUser"
ANSWER = {"fieldName": "f", "selected": ["A"], "selectedIndex": 0}


@pytest.fixture(autouse=True)
def with_the_boss(settings):
    settings.HITL_AGENTS = [agents.BOSS]
    agents.ran.clear()


def working() -> bool:
    """Whether a turn is at work, or a sub-agent's has just rested and its caller is not queued yet."""
    _, moved = sweep.answered_nested()
    at_work = Q(state__in=[TurnState.QUEUED, TurnState.RUNNING])
    # One statement, because a turn could move from one set to the other between two.
    return Turn.objects.filter(at_work | Q(pk__in=moved.values("pk"))).exists()


def work(*turns: Turn) -> None:
    """Run these turns, and all turns that they start, until they rest."""

    async def story() -> None:
        for turn in turns or Turn.objects.none():
            doorbell.notify_queued(turn.pk)
        while await pool.run(working):
            await asyncio.sleep(0.01)

    served(story)


def converse(text: str, **given) -> Turn:
    turn = say(make_chat(asker(), **given), text)
    work(turn)
    return reload(turn)


def decider() -> User:
    return User.objects.filter(username="bob").first() or bob()


def asker() -> User:
    return User.objects.filter(username="alice").first() or alice()


def decide(request: ApprovalRequest, verdict: Verdict = Verdict.APPROVE, **given) -> None:
    """Decide a request and run everything that follows."""

    async def story() -> None:
        by = await pool.run(decider)
        more = {"answer": ANSWER} if verdict == Verdict.RESPOND else {}
        await pool.run(desk.decide, request.pk, Answer(verdict, **more, **given), by=by, via=Door.DASHBOARD)
        while await pool.run(working):
            await asyncio.sleep(0.01)

    served(story)


def only_request(turn: Turn) -> ApprovalRequest:
    (request,) = queries.open_requests(turn)
    return request


def last_text(turn: Turn) -> str:
    return turn.chat.shown.get(message_id=turn.message_id).parts[-1]["text"]


def states() -> list[tuple[str, str]]:
    return [(turn.agent, turn.state) for turn in Turn.objects.order_by("depth", "pk")]


def test_a_request_three_levels_down_is_shown_at_the_top_and_resumes_below():
    turn = converse("let the clerk pay Ann")
    request = only_request(turn)
    assert states() == [("boss", "suspended"), ("clerk", "suspended"), ("accountant", "suspended")]
    assert (request.step_path, request.input) == (["clerk", "accountant", "pay"], {"amount": 5, "to": "Ann"})
    workflow = Workflow.objects.get()
    assert (workflow.key, workflow.scope, workflow.agent, workflow.pk) == (
        str(turn.run_id),
        f"chat:{turn.chat.pk}",
        "boss",
        request.workflow_id,
    )
    assert agents.ran == []
    decide(request)
    assert states() == [("boss", "completed"), ("clerk", "completed"), ("accountant", "completed")]
    assert last_text(reload(turn)) == "Done. The accountant says: paid 5, to Ann"
    assert agents.ran == [("pay", (5, "Ann"))]
    assert Workflow.objects.get().state == "completed"


def test_every_level_has_checkpoints_and_one_audit_entry_per_call():
    turn = converse("let the clerk pay Ann")
    decide(only_request(turn))
    kinds = {
        found.agent: list(
            TurnCheckpoint.objects.filter(turn_pk=found.pk).order_by("ordinal").values_list("kind", flat=True)
        )
        for found in Turn.objects.all()
    }
    assert kinds == {agent: ["partial", "final"] for agent in ("boss", "clerk", "accountant")}
    results = AuditEntry.objects.filter(event="tool.result").order_by("pk")
    assert [(entry.agent, entry.tool_name) for entry in results] == [
        ("accountant", "pay"),
        ("clerk", "accountant"),
        ("boss", "clerk"),
    ]
    assert {(entry.scope, entry.run_id, entry.thread_id) for entry in AuditEntry.objects.all()} == {
        (f"chat:{turn.chat.pk}", str(turn.run_id), turn.chat.public_id)
    }


def test_parallel_sub_agents_pause_and_continue_independently():
    turn = converse("both")
    first, second = sorted(queries.open_requests(turn), key=lambda request: request.input["to"])
    assert (first.step_path, second.step_path) == (["accountant", "pay"], ["clerk", "accountant", "pay"])
    decide(second)
    assert reload(turn).state == "suspended"
    assert agents.ran == [("pay", (5, "Ben"))]
    assert [request.pk for request in queries.open_requests(turn)] == [first.pk]
    decide(first, Verdict.REJECT, comment="no")
    said = last_text(reload(turn))
    assert said.startswith("Both. A person decided against this call.")
    assert said.endswith("Their reason: no and The accountant says: paid 5, to Ben")


def test_an_agent_and_its_sub_agent_may_ask_at_the_same_time():
    turn = converse("myself too")
    question, payment = sorted(queries.open_requests(turn), key=lambda request: len(request.step_path))
    assert ("count", "succeeded") in ToolCall.objects.values_list("name", "state")
    decide(question, Verdict.RESPOND)
    assert reload(turn).state == "suspended"
    decide(payment)
    assert last_text(reload(turn)) == "All. A and paid 5, to Ann and Counted."


def test_a_sub_agent_without_requests_does_not_suspend_its_caller():
    turn = converse("accountant count")
    assert (turn.state, last_text(turn)) == ("completed", "It says: Counted.")
    assert (TurnCheckpoint.objects.filter(kind="partial").count(), Workflow.objects.count()) == (0, 0)


def test_stopping_the_top_stops_every_sub_agent_and_cancels_its_requests():
    turn = converse("both")
    asked = queries.open_requests(turn)
    assert actions.stop_turn(turn.chat, by=turn.chat.owner, via=Door.CHAT)
    assert {state for _, state in states()} == {"stopped"}
    assert [ApprovalRequest.objects.get(pk=request.pk).status for request in asked] == ["cancelled"] * 2
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"cancelled"}
    assert (Workflow.objects.get().state, agents.ran) == ("cancelled", [])


def test_stopping_the_top_cuts_a_running_sub_agent_short():
    turn = say(make_chat(alice()), "accountant recite")

    async def story() -> None:
        doorbell.notify_queued(turn.pk)
        while not await pool.run(Turn.objects.filter(agent="accountant", events__isnull=False).exists):
            await asyncio.sleep(0.01)
        await pool.run(actions.stop_turn, turn.chat, by=turn.chat.owner, via=Door.CHAT)
        while await pool.run(working):
            await asyncio.sleep(0.01)

    served(story)
    assert states() == [("boss", "stopped"), ("accountant", "stopped")]


def test_a_stopped_sub_agent_is_a_failed_call_of_its_caller():
    turn = converse("accountant ask")
    below = Turn.objects.select_related("chat__owner").get(agent="accountant")

    async def story() -> None:
        await pool.run(actions.stop_turn, below.chat, by=below.chat.owner, via=Door.CHAT)
        while await pool.run(working):
            await asyncio.sleep(0.01)

    served(story)
    assert (reload(turn).state, last_text(reload(turn))) == ("completed", "It says: accountant was stopped.")


def test_agents_may_be_nested_four_deep(settings):
    settings.HITL_AGENTS = ["tests.support.chats.agents.deepest"]
    turn = converse("go")
    request = only_request(turn)
    assert request.step_path == ["next", "next", "next", "next", "pay"]
    decide(request)
    assert last_text(reload(turn)) == "paid 5, to Zoe"
    settings.HITL_AGENTS = ["tests.support.chats.agents.too_deep"]
    deeper = converse("go", public_id="deeper")
    assert (deeper.state, "agents may be nested 4 deep" in last_text(deeper)) == ("completed", True)


def test_the_sweep_finds_decisions_in_sub_agents_whose_signal_was_lost():
    """The signal and the notification are lost in a crash between two commits."""
    turn = converse("both")
    first, second = queries.open_requests(turn)
    signals.decided.disconnect(dispatch_uid="chats.on_decided")
    try:
        desk.decide(first.pk, Answer(Verdict.APPROVE), by=decider(), via=Door.DASHBOARD)
    finally:
        signals.decided.connect(jobs.on_decided, dispatch_uid="chats.on_decided")
    assert {state for _, state in states()} == {"suspended"}
    sweep.resume_nested_turns()
    assert working()
    work(*Turn.objects.filter(state=TurnState.QUEUED))
    assert len(agents.ran) == 1
    decide(second)
    assert (reload(turn).state, len(agents.ran)) == ("completed", 2)


def test_the_sweep_finds_a_sub_agent_whose_end_went_unnoticed():
    turn = converse("accountant pay Ann")
    decide(only_request(turn))
    ToolCall.objects.filter(turn=turn).update(state="delegated", output=None, finished_at=None)
    Turn.objects.filter(pk=turn.pk).update(state="suspended", ended_at=None)
    turn.steps.filter(index=1).delete()
    sweep.resume_nested_turns()
    work(reload(turn))
    assert last_text(reload(turn)) == "It says: paid 5, to Ann"


def test_a_sub_agents_chat_takes_no_message_and_is_not_listed():
    converse("accountant ask")
    below = Chat.objects.get(agent="accountant")
    with pytest.raises(actions.posting.BadMessage, match="the chat that started it"):
        say(below, "and me?")
    assert [chat.agent for chat in queries.filtered_chats_for(standing_of(asker()), queries.ChatFilters())] == ["boss"]
    assert (below.title, below.shown.count()) == ("ask", 2)


def test_the_page_at_the_top_shows_and_links_the_requests_below(client):
    turn = converse("let the clerk ask")
    request, below = only_request(turn), Chat.objects.get(agent="clerk")
    client.force_login(turn.chat.owner)
    page = client.get(turn.chat.get_absolute_url()).text
    assert f'id="request-{request.pk}"' in page
    assert PATH in page
    assert f'href="{below.get_absolute_url()}"' in page
    assert "Waiting for 1 decision." in page
    inner = client.get(below.get_absolute_url()).text
    assert (f'id="request-{request.pk}"' in inner, turn.chat.get_absolute_url() in inner) == (True, True)
    assert ("no longer listed" in inner, 'id="composer"' in inner) == (False, False)
    workflow = client.get(request.workflow.get_absolute_url()).text
    assert PATH in workflow
    client.force_login(mallory())
    assert client.get(below.get_absolute_url()).status_code == 404


def test_two_agents_with_the_same_name_are_refused(settings):
    settings.HITL_AGENTS = ["tests.support.chats.agents.boss", "tests.support.chats.agents.impostor"]
    with pytest.raises(TypeError, match="two different agents are named 'accountant'"):
        registry.get(settings.HITL_AGENTS, "boss")


def test_a_person_cannot_start_a_chat_with_a_sub_agent(client):
    client.force_login(asker())
    refused = client.post("/chats/new/", {"agent": "accountant", "text": "pay Ann"})
    assert (refused.status_code, Chat.objects.count()) == (422, 0)
