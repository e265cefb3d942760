"""A turn whose calls a grant covers goes on by itself: no wake-up is lost, and calls without a grant wait."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db import pool
from approvals.models import ApprovalRequest, Decision, Grant, OutboxEvent
from approvals.policy.grants import GrantTerms
from approvals.states import Audience, Door, Verdict, Width
from chats.agent.agent import Agent
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import tool
from chats.models import Chat, Turn, TurnCheckpoint
from chats.states import TurnState
from tests.support import people
from tests.support.chats.turns import last_text, make_chat, only_request, reload, run, say, shape
from tests.support.machines import served

pytestmark = pytest.mark.django_db(transaction=True)


@tool(needs_approval=True)
def book(amount: int) -> str:
    """Book an amount."""
    return f"booked {amount}"


clerk = Agent(
    name="clerk",
    tools=(book,),
    script=(
        Conversation(
            r"^both",
            [
                [Use("book", {"amount": 5}), Use("book", {"amount": 6})],
                [Say("Done: {answers}", pause=0)],
            ],
        ),
        Conversation(r"^twice", [[Use("book", {"amount": 5})], [Use("book", {"amount": 5})], [Say("Done.", pause=0)]]),
        Conversation(r"^book", [[Use("book", {"amount": 5})], [Say("Done: {answers}", pause=0)]]),
    ),
)


@pytest.fixture
def chat(settings) -> Chat:
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    return make_chat(people.alice())


def give(turn: Turn, width: Width = Width.INPUT, audience: Audience = Audience.AGENT) -> Grant:
    """Approve the waiting call of a turn with a grant of three uses."""
    answer = Answer(Verdict.APPROVE, grant=GrantTerms(width=width, audience=audience, uses=3))
    bob = User.objects.filter(username="bob").first() or people.bob()
    desk.decide(only_request(turn).pk, answer, by=bob, via=Door.DASHBOARD)
    return Grant.objects.latest("given_at")


async def ended(turn: Turn) -> None:
    while not await Turn.objects.filter(pk=turn.pk, state=TurnState.COMPLETED).aexists():
        pass


def test_a_turn_that_its_own_process_runs_goes_on_behind_the_grant(chat):
    first = run(say(chat, "book it"))
    give(first)
    assert last_text(run(first)) == "Done: booked 5"

    async def story() -> Turn:
        turn = await pool.run(say, chat, "book it")
        await ended(turn)
        return turn

    turn = served(story)
    assert (last_text(turn), shape(turn)) == (
        "Done: booked 5",
        ["step-start", "output-available", "step-start", "text"],
    )
    assert list(Decision.objects.order_by("pk").values_list("by_name", "via")) == [
        ("bob", "dashboard"),
        ("bob", "grant"),
    ]


def test_a_grant_for_a_workflow_covers_the_next_call_of_the_same_turn(chat):
    turn = run(say(chat, "twice"))
    grant = give(turn, audience=Audience.WORKFLOW)
    assert (last_text(run(turn)), Grant.objects.get().used) == ("Done.", 1)
    other = run(say(chat, "book it"))
    assert (other.state, Grant.objects.get(pk=grant.pk).used) == ("suspended", 1)


def test_the_calls_of_one_step_that_nobody_granted_hold_it_up(chat):
    first = run(say(chat, "book it"))
    give(first)
    run(first)
    turn = run(say(chat, "both"))
    waiting = only_request(turn)
    assert (turn.state, waiting.input, Grant.objects.get().used) == ("suspended", {"amount": 6}, 1)
    desk.decide(waiting.pk, Answer(Verdict.APPROVE), by=User.objects.get(username="bob"), via=Door.DASHBOARD)
    assert last_text(run(turn)) == "Done: booked 5 and booked 6"


def test_all_calls_of_a_step_can_be_covered(chat):
    first = run(say(chat, "book it"))
    give(first, Width.TOOL)
    run(first)
    turn = run(say(chat, "both"))
    assert (last_text(turn), Grant.objects.get().used) == ("Done: booked 5 and booked 6", 2)


def test_calls_that_grants_cover_do_not_pause_the_turn(chat):
    first = run(say(chat, "book it"))
    give(first)
    run(first)
    turn = run(say(chat, "twice"))
    assert (reload(turn).attempt, Grant.objects.get().used) == (1, 2)
    assert list(TurnCheckpoint.objects.filter(turn_pk=turn.pk).values_list("kind", flat=True)) == ["final"]
    # Both requests are in one workflow, which waits for nothing.
    workflow = ApprovalRequest.objects.latest("created_at").workflow
    assert (workflow.requests.count(), workflow.open_count) == (2, 0)


def test_a_pause_names_only_the_requests_that_wait(chat, settings):
    settings.HITL_EVENT_HANDLERS = [f"{__name__}.hear"]
    first = run(say(chat, "book it"))
    give(first)
    run(first)
    turn = run(say(chat, "both"))
    event = OutboxEvent.objects.filter(name="turn.suspended").latest("pk")
    assert event.payload["requests"] == [str(only_request(turn).pk)]


def hear(_event: object) -> None:
    """Handle nothing: events are stored only if someone hears them."""
