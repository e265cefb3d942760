"""Servers with OpenAI's API that number the calls of each answer anew: no two calls of a chat get one id."""

from __future__ import annotations

import pytest

from approvals.states import Door
from chats import actions, providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.tools import tool
from chats.models import ToolCall
from chats.queries import subagents
from chats.states import TurnState
from tests.chats.engine.test_nested import work
from tests.chats.providers.stands import ClaudeStand, OpenAIStand
from tests.support import people
from tests.support.chats.turns import last_text, make_chat, reload, run, say

pytestmark = pytest.mark.django_db(transaction=True)


@tool
def look(city: str) -> str:
    """Look at the weather."""
    return f"clear in {city}"


scout = Agent(name="scout", tools=(look,))
guide = Agent(name="guide", tools=(look, scout.as_tool()))
LOOK = ("call_0", "look", {"city": "Paris"})


@pytest.fixture
def stand(settings, monkeypatch):
    made = OpenAIStand()
    with made.server:
        yield configured(made, settings, monkeypatch)
    restart()


def configured(made, settings, monkeypatch):
    settings.HITL_AGENTS = [f"{__name__}.guide"]
    made.configure(settings, monkeypatch)
    restart()
    return made


def restart():
    providers._make.cache_clear()
    registry.load.cache_clear()


def run_again(turn):
    """Regenerate the answer of a turn."""
    asked = turn.chat.shown.filter(role="user").latest("position").message_id
    return run(actions.answer_again(turn.chat, asked, by=turn.chat.owner, agent=guide, via=Door.CHAT))


def edit(turn, words):
    asked = turn.chat.shown.filter(role="user").latest("position").message_id
    given = {"by": turn.chat.owner, "agent": guide, "via": Door.CHAT, "in_place_of": asked}
    return run(actions.add_user_message(turn.chat, "edited", [words], **given))


def call_ids():
    return list(ToolCall.objects.order_by("pk").values_list("tool_call_id", flat=True))


def test_calls_of_answers_that_were_removed_keep_their_ids(stand):
    stand.server.will(*[stand.says("", LOOK), stand.says("It is clear.")] * 3)
    first = run(say(make_chat(people.alice()), "How is Paris?"))
    second = run_again(first)
    third = edit(second, "And now?")
    assert [turn.state for turn in (first, second, third)] == [TurnState.COMPLETED] * 3, third.error
    assert (call_ids()[0], len({*call_ids()})) == ("call_0", 3)
    assert [kind for kind, _ in stand.conversation()] == ["user", "call", "result"]


def test_a_sub_agent_may_say_the_id_of_its_callers_call(stand):
    task = ("call_0", "scout", {"task": "Look at Paris."})
    stand.server.will(
        stand.says("", task), stand.says("", LOOK), stand.says("Clear."), stand.says("", LOOK), stand.says("It is.")
    )
    turn = say(make_chat(people.alice()), "How is Paris?")
    work(turn)
    turn = reload(turn)
    assert (turn.state, last_text(turn)) == (TurnState.COMPLETED, "It is.")
    assert (call_ids()[0], len({*call_ids()})) == ("call_0", 3)
    assert set(ToolCall.objects.values_list("state", flat=True)) == {"succeeded"}


def test_a_provider_whose_ids_are_unique_costs_no_read_of_them(settings, monkeypatch):
    reads = []
    monkeypatch.setattr(subagents, "used_call_ids", reads.append)
    made = ClaudeStand()
    with made.server:
        configured(made, settings, monkeypatch)
        made.server.will(made.says("", LOOK), made.says("It is clear."))
        turn = run(say(make_chat(people.alice()), "How is Paris?"))
    restart()
    assert (turn.state, reads) == (TurnState.COMPLETED, [])
