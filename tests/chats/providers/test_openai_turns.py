"""Whole turns with the Chat Completions of other vendors: they refuse the request after a call without the data sent with it."""

from __future__ import annotations

import pytest

from approvals.states import Door, Verdict
from chats import actions, providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import issueRefund
from chats.models import Step
from tests.support import people
from tests.support.chats.turns import decide, make_chat, only_request, parts, run
from tests.support.openai_server import KEY, OpenAIServer, call, chunk, plays, says

pytestmark = pytest.mark.django_db(transaction=True)

clerk = Agent(name="clerk", system="Be careful.", tools=[issueRefund])
REFUND = call("function-call-1", "issueRefund", orderId="A-1", amount=250)
SIGNATURE = {"google": {"thought_signature": "c2lnbmF0dXJl"}}
CALLED = chunk({}, "tool_calls")
ANSWERS = {
    "gemini-3": [chunk({"tool_calls": [{"index": 0, **REFUND, "extra_content": SIGNATURE}]}), CALLED],
    "deepseek-thinks": [chunk({"reasoning_content": ""}), chunk({"tool_calls": [{"index": 0, **REFUND}]}), CALLED],
}


@pytest.fixture
def server(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    settings.HITL_PROVIDER, settings.OPENAI_API_KEY = "openai", KEY
    with OpenAIServer() as started:
        settings.OPENAI_BASE_URL = started.base_url
        yield started
    restart()


def restart():
    """Drop the caches of the process."""
    providers._make.cache_clear()
    registry.load.cache_clear()


@pytest.mark.parametrize("model", ANSWERS)
def test_a_turn_goes_on_after_its_approved_call_has_run(server, settings, model):
    settings.HITL_MODEL = model
    restart()
    server.will(plays(*ANSWERS[model]), says("It is refunded."))
    chat = make_chat(people.alice())
    turn = run(actions.post_message(chat, "Refund A-1", by=chat.owner, agent=clerk, via=Door.CHAT).turn)
    restart()
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn = run(turn)
    assert (turn.state, turn.error) == ("completed", "")
    assert [part.get("text") or part.get("state") for part in parts(turn)[1:]] == [
        "output-available",
        None,
        "It is refunded.",
    ]


def test_an_answer_in_parts_is_shown_and_stored(server, settings):
    settings.HITL_MODEL = "magistral"
    restart()
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "They want to know."}]}
    server.will(
        plays(
            chunk({"content": [thought]}),
            chunk({"content": [{"type": "text", "text": "It was paid."}]}),
            chunk({}, "stop"),
        )
    )
    alice = people.alice()
    turn = run(actions.post_message(make_chat(alice), "Was it paid?", by=alice, agent=clerk, via=Door.CHAT).turn)
    assert [(part["type"], part["text"]) for part in parts(turn)[1:]] == [
        ("reasoning", "They want to know."),
        ("text", "It was paid."),
    ]
    assert [block["type"] for block in Step.objects.get().blocks] == ["thinking", "text", "vendor"]
