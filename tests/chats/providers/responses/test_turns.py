"""Whole turns with the Responses API: the real runner, and a server that refuses the same requests as the real API."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from approvals.states import Door, Verdict
from chats import actions, providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.models import Step, Turn, TurnCheckpoint
from chats.states import CallState, TurnState
from tests.support import people
from tests.support.anthropic_server import Close, Reply
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import decide, last_text, make_chat, only_request, parts, run
from tests.support.responses import server as api
from tests.support.responses.server import KEY, ResponsesServer, call, message, says, thought

pytestmark = pytest.mark.django_db(transaction=True)

clerk = Agent(name="clerk", system="Be careful.", tools=[getWeather, issueRefund], effort="high")
REFUND = {"orderId": "A-1", "amount": 250}
REFUNDED = '{"orderId": "A-1", "amount": 250.0, "status": "refunded", "executions": 1}'


@pytest.fixture
def server(settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    settings.HITL_PROVIDER, settings.OPENAI_API_KEY, settings.HITL_MODEL = "openai-responses", KEY, "gpt-5.5"
    with ResponsesServer() as started:
        settings.OPENAI_BASE_URL = started.base_url
        restart()
        yield started
    restart()


def restart():
    """Drop the caches of the process. The next turn runs on a new event loop anyway."""
    providers._make.cache_clear()
    registry.load.cache_clear()


def say(chat, words="Hello"):
    return run(actions.post_message(chat, words, by=chat.owner, agent=clerk, via=Door.CHAT).turn)


def begin(words="Refund A-1"):
    return say(make_chat(people.alice()), words)


def person(words):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}


def items(server, number=-1):
    return server.requests[number].body["input"]


def back(item):
    """An item as sent back: without its status."""
    kept = {name: value for name, value in item.items() if name != "status" or item["type"] == "message"}
    for part in kept.get("content", ()):
        part.pop("logprobs", None)
    return kept


def thoughts(server, number=-1):
    return [item["id"] for item in items(server, number) if item["type"] == "reasoning"]


def test_a_refund_continues_after_a_restart_with_its_thoughts_exactly_as_they_came(server):
    asked = [
        thought("rs_1", "250 is a lot.", "Better ask… 🌍", sealed="gAAAAABp+/x_-=="),
        message("I will ask.", phase="commentary", item_id="msg_1"),
        call("call_1", "issueRefund", item_id="fc_1", **REFUND),
    ]
    used = api.usage(
        input_tokens=100,
        output_tokens=40,
        input_tokens_details={"cached_tokens": 60, "cache_write_tokens": 10},
        output_tokens_details={"reasoning_tokens": 30},
    )
    server.will(says(*asked, used=used))
    turn = begin()
    assert (turn.state, turn.finish_reason) == (TurnState.SUSPENDED, "tool-calls")
    restart()
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    answered = [thought("rs_2", "Done."), message("It is refunded.", phase="final_answer", item_id="msg_2")]
    server.will(says(*answered))
    turn = run(turn)
    assert (turn.state, turn.finish_reason, turn.error) == (TurnState.COMPLETED, "stop", "")
    result = {"type": "function_call_output", "call_id": "call_1", "output": REFUNDED}
    assert items(server) == [person("Refund A-1"), *map(back, asked), result]
    assert [part.get("text") or part.get("state") for part in parts(turn)[1:]] == [
        "250 is a lot.\n\nBetter ask… 🌍",
        "I will ask.",
        "output-available",
        None,
        "Done.",
        "It is refunded.",
    ]
    assert turn.usage == {
        "input_tokens": 40,
        "output_tokens": 45,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 10,
        "thinking_tokens": 30,
    }
    # The next turn is shown the whole conversation again, and nothing is kept at the server.
    server.will(says(message("Yes.")))
    say(turn.chat, "Sure?")
    assert items(server) == [*items(server, 1), *map(back, answered), person("Sure?")]
    assert [(request.body["store"], request.body["include"]) for request in server.requests] == [
        (False, ["reasoning.encrypted_content"])
    ] * 3
    assert [request.body.keys() & {"previous_response_id", "conversation"} for request in server.requests] == [
        set()
    ] * 3


def test_each_step_records_who_answered(server):
    reply = says(message("Hi"), used=api.usage())
    server.will(Reply(items=reply.items, headers={"x-request-id": "req_1"}))
    turn = begin()
    step = turn.steps.get()
    assert (step.provider, step.model, step.stop_reason) == ("openai-responses", "gpt-5.5", "end_turn")
    answered = {"model": "gpt-5.5-2026-09-01", "message_id": "resp_1", "request_id": "req_1"}
    assert step.answered_by == answered


def test_a_broken_answer_leaves_its_words_and_the_thoughts_of_the_steps_before(server):
    first = [thought("rs_1"), call("call_1", "getWeather", item_id="fc_1", city="Paris")]
    second = api.answer(thought("rs_2", "So."), message("It is cl"))
    server.will(says(*first), api.plays(*second[:-4], Close.EARLY, done=False), says(message("It is clear.")))
    turn = begin("Weather?")
    assert (turn.state, turn.error) == (
        TurnState.FAILED,
        "The model's answer ended before it was complete. Send your message again.",
    )
    say(turn.chat, "Go on")
    assert items(server)[1:3] == [*map(back, first)]
    # The broken answer leaves words and no thoughts: encrypted ones may be incomplete.
    words = "It is cl(An error interrupted this answer here.)"
    assert items(server)[4] == {"type": "message", "role": "assistant", "content": words}


def test_the_next_process_asks_again_with_the_thoughts_of_the_step_that_a_killed_one_has_stored(server):
    step = [thought("rs_1"), call("call_1", "issueRefund", item_id="fc_1", **REFUND)]
    server.will(says(*step))
    turn = begin()
    decide(only_request(turn), people.bob(), Verdict.REJECT, comment="Not yet.")
    claim_turn(turn.pk, owner="killed while it asked the model")
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    restart()
    server.will(says(message("Bob says no.")))
    turn = run(turn)
    assert (turn.state, turn.attempt, last_text(turn)) == (TurnState.COMPLETED, 3, "Bob says no.")
    assert items(server)[1:3] == [*map(back, step)]


def test_another_account_refuses_the_thoughts_of_a_chat_once_and_for_all(server):
    server.will(says(thought("rs_1"), message("One", item_id="msg_1")))
    chat = begin("One?").chat
    # Another account at the same address knows none of these thoughts.
    for known in (server.thoughts, server.needed, server.requests):
        known.clear()
    restart()
    server.will(says(thought("rs_2"), message("Two")))
    say(chat, "Two?")
    assert [thoughts(server, number) for number in range(2)] == [["rs_1"], []]
    assert [item.get("id") for item in items(server)] == [None] * 3
    # Other chats keep theirs.
    server.will(says(thought("rs_3"), message("Three")), says(message("Four")))
    say(say(make_chat(chat.owner), "Three?").chat, "Four?")
    assert thoughts(server) == ["rs_3"]
    # Also a process that has not seen the refusal does not ask for another one.
    restart()
    server.will(says(message("Five")))
    say(chat, "Five?")
    assert (thoughts(server), len(server.requests)) == (["rs_2"], 5)
    left_out = {"thoughts_left_out": {"answers": 1, "why": "refused"}}
    assert [step.stop_details for step in Step.objects.order_by("id")] == [{}, left_out, {}, {}, {}]


def test_thoughts_that_the_server_withholds_from_the_model_are_told_once_and_sent_no_more(server):
    removed = {"id": "rs_1", "type": "reasoning", "action": "removed", "reason": "organization_mismatch"}
    server.will(
        says(thought("rs_1"), message("One")), says(thought("rs_2"), message("Two"), input_transformations=[removed])
    )
    server.will(says(message("Three")))
    chat = begin("One?").chat
    say(chat, "Two?")
    say(chat, "Three?")
    assert [thoughts(server, number) for number in range(3)] == [[], ["rs_1"], ["rs_2"]]
    left_out = {"thoughts_left_out": {"answers": 1, "why": "refused"}}
    assert [step.stop_details for step in Step.objects.order_by("id")] == [{}, left_out, {}]


def test_thoughts_of_earlier_turns_that_a_model_does_not_use_are_no_refusal(server):
    removed = {"id": "rs_1", "type": "reasoning", "action": "removed", "reason": "turn_boundary"}
    server.will(says(thought("rs_1"), message("One")), says(message("Two"), input_transformations=[removed]))
    chat = begin("One?").chat
    assert say(chat, "Two?").steps.get().stop_details == {}


def test_a_branch_keeps_the_thoughts_of_its_original(server):
    server.will(says(thought("rs_1"), message("One")), says(message("Two")))
    turn = begin("One?")
    checkpoint = TurnCheckpoint.objects.get(message_id=turn.message_id)
    branch = actions.branch_chat(
        turn.chat, checkpoint, by=turn.chat.owner, agent=clerk, token=uuid4().hex, via=Door.CHAT
    )
    say(branch, "Otherwise?")
    assert thoughts(server) == ["rs_1"]


def test_malformed_arguments_go_back_to_the_model_as_a_failed_call(server):
    wrong = call("call_1", "getWeather", item_id="fc_1") | {"arguments": '{"city": '}
    server.will(says(thought("rs_1"), wrong), says(message("I see.")))
    turn = begin("Weather?")
    assert (turn.state, turn.tool_calls.get().state, last_text(turn)) == (
        TurnState.COMPLETED,
        CallState.FAILED,
        "I see.",
    )
    assert items(server)[3]["output"].startswith("(This call failed.) ")


def test_an_id_that_an_earlier_call_had_is_replaced_and_both_calls_have_their_results(server):
    again = [says(call("call_1", "getWeather", city=city)) for city in ("Paris", "Rome")]
    server.will(*again, says(message("Both are clear.")))
    turn = begin("Weather?")
    ids = [item["call_id"] for item in items(server) if item["type"] == "function_call"]
    results = [item["call_id"] for item in items(server) if item["type"] == "function_call_output"]
    assert (turn.state, ids, ids[0], len(set(ids))) == (TurnState.COMPLETED, results, "call_1", 2)


def test_a_refusal_ends_the_turn_and_is_not_sent_again(server):
    server.will(says(thought("rs_1"), message(refusal="I cannot help with that.")), says(message("Hello.")))
    turn = begin("Something bad")
    assert (turn.state, turn.finish_reason) == (TurnState.COMPLETED, "content-filter")
    say(turn.chat, "Hello?")
    assert items(server) == [person("Hello?")]
