"""Chats whose provider changes, from any to any other, and between the two APIs of OpenAI and back."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import permutations

import pytest

from approvals.states import Verdict
from chats.agent.provider import ITEM
from chats.queries.values import words_of
from chats.states import TurnState
from tests.chats.providers.stands import STANDS
from tests.chats.providers.test_every_provider import LACKS, PARIS, REFUND, chat, say
from tests.support import people
from tests.support.chats.turns import decide, only_request, run
from tests.support.openai_server import call as chat_call
from tests.support.openai_server import says as chat_says
from tests.support.responses.server import call, message, says, thought

__all__ = ["chat"]

pytestmark = pytest.mark.django_db(transaction=True)

GPT = "gpt-5.5"


@pytest.fixture
def stands():
    made = {stand.name: stand() for stand in STANDS}
    with ExitStack() as servers:
        for each in made.values():
            servers.enter_context(each.server)
        yield made


@pytest.mark.parametrize(("begin", "end"), list(permutations(LACKS, 2)))
def test_a_chat_changes_its_provider_while_it_waits_for_a_person(stands, begin, end, chat, settings, monkeypatch):
    stands[begin].configure(settings, monkeypatch)
    stands[begin].server.will(stands[begin].says("A look.", PARIS), stands[begin].says("I will ask.", REFUND))
    turn = say(chat, "Refund A-1")
    decide(only_request(turn), people.bob(), Verdict.REJECT, comment="Not yet.")
    stands[end].configure(settings, monkeypatch)
    stands[end].server.will(stands[end].says("Bob says no."), stands[end].says("Yes."))
    assert (run(turn).state, say(chat, "Sure?").state) == (TurnState.COMPLETED, TurnState.COMPLETED)
    assert len(stands[end].server.requests) == 2
    kinds = [kind for kind, _ in stands[end].conversation() if kind != "system"]
    assert kinds == ["user", "assistant", "call", "result", "assistant", "call", "result", "assistant", "user"]
    assert [step.provider for step in turn.steps.order_by("index")] == [begin, begin, end]
    # A provider's internal data is sent to no other.
    assert f'"{ITEM}"' not in json.dumps(stands[end].server.requests[-1].body)


def test_a_chat_goes_from_responses_to_chat_completions_and_back_with_the_same_model(
    stands, chat, settings, monkeypatch
):
    there, here = stands["openai-responses"], stands["openai"]
    first = [thought("rs_1", "Paris first."), call("call_paris", "getWeather", item_id="fc_1", city="Paris")]
    second = [thought("rs_2"), message("It is clear.", item_id="msg_2")]
    there.server.will(says(*first), says(*second))
    here.server.will(chat_says("", chat_call("call_rome", "getWeather", city="Rome")), chat_says("And in Rome."))
    there.server.will(says(message("Both are.", item_id="msg_3")))
    turns = []
    for stand in (there, here, there):
        stand.configure(settings, monkeypatch)
        settings.HITL_MODEL = GPT
        turns.append(say(chat, "And now?"))
    assert [(turn.state, turn.error) for turn in turns] == [(TurnState.COMPLETED, "")] * 3
    assert "gAAAA" not in str(here.server.requests[-1].body["messages"])
    assert [kind for kind, _ in here.conversation()][:6] == ["system", "user", "call", "result", "assistant", "user"]
    items = there.server.requests[-1].body["input"]
    assert [item.get("id") or item.get("call_id") or item["role"] for item in items] == [
        "user",
        "rs_1",
        "fc_1",
        "call_paris",
        "rs_2",
        "msg_2",
        "user",
        *[items[7]["call_id"]] * 2,
        "assistant",
        "user",
    ]
    assert (items[1], items[4]) == (first[0], second[0])
    changed = [step.stop_details.get("model_changed") for turn in turns for step in turn.steps.order_by("index")]
    there_and_back = [{"before": GPT, "now": GPT, "answers": answers} for answers in (2, 0)]
    assert changed == [None, None, there_and_back[0], None, there_and_back[1]]
    assert words_of({"code": "model_changed", **there_and_back[0]}) == (
        "From here on, gpt-5.5 is called through another API. "
        "It does not see its earlier thoughts, or the searches and code that it ran."
    )
