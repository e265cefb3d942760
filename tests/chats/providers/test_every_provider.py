"""The same stories, played against every provider; `LACKS` lists the missing abilities of each."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from cryptography import x509

from approvals.states import Door, Verdict
from chats import actions, providers
from chats.agent import events, registry
from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import ITEM, ModelMessage, ModelRequest, ProviderError
from chats.models import ToolCall
from chats.providers.clients import trusted
from chats.states import CallState, TurnState
from tests.approvals.outbound.test_http_post import certificate
from tests.chats.providers.stands import PAGE, STANDS
from tests.support import people
from tests.support.anthropic_server import Reply
from tests.support.chats.streams import read_into
from tests.support.chats.turns import decide, make_chat, only_request, parts, run

clerk = Agent(name="clerk", system="Be careful.", tools=[getWeather, issueRefund], temperature=0.2)
HELLO = [ModelMessage("user", [{"type": "text", "text": "Hello"}])]
PARIS, ROME = ("call_paris", "getWeather", {"city": "Paris"}), ("call_rome", "getWeather", {"city": "Rome"})
REFUND = ("call_refund", "issueRefund", {"orderId": "A-1", "amount": 250})
BROKEN_OFF = "The model's answer ended before it was complete. Send your message again."

#: The signs of each ability in a request, and the providers that lack it.
ABILITIES = {
    "marks what to cache": lambda body: "cache_control" in str(body),
    "marks the result of a failed call": lambda body: "is_error" in str(body),
    "takes a thinking budget": lambda body: "budget_tokens" in str(body),
    "gets signed thoughts back": lambda body: "c2ln" in str(body),
    "keeps the system prompt apart": lambda body: "system" in body or "instructions" in body,
    "takes pictures": lambda body: "aWNvbg==" in str(body),
    "takes documents": lambda body: "JVBERg==" in str(body),
}
LACKS = {
    "anthropic": set(),
    "openai": {
        "marks what to cache",
        "marks the result of a failed call",
        "takes a thinking budget",
        "gets signed thoughts back",
        "keeps the system prompt apart",
    },
    "openai-responses": {
        "marks what to cache",
        "marks the result of a failed call",
        "takes a thinking budget",
        "gets signed thoughts back",
    },
}


@pytest.fixture(params=STANDS, ids=[stand.name for stand in STANDS])
def stand(request):
    made = request.param()
    with made.server:
        yield made


@pytest.fixture
def chat(db, settings):
    settings.HITL_AGENTS = [f"{__name__}.clerk"]
    restart()
    yield make_chat(people.alice())
    restart()


def restart():
    """Drop the caches of the process. The next turn runs on a new event loop anyway."""
    providers._make.cache_clear()
    registry.load.cache_clear()


def say(chat, words="Hello"):
    return run(actions.post_message(chat, words, by=chat.owner, agent=clerk, via=Door.CHAT).turn)


async def ask(stand, messages=HELLO, **given):
    return [event async for event in stand.provider(**given).stream(ModelRequest(clerk, messages))]


async def refusal(stand, **given):
    with pytest.raises(ProviderError) as failure:
        await ask(stand, **given)
    return str(failure.value)


def whole(shown):
    """Return the whole answer without the provider's internal data."""
    blocks = [{name: value for name, value in block.items() if name != ITEM} for block in shown[-1].blocks]
    return replace(shown[-1], blocks=blocks, prefix="")


def texts(shown):
    return "".join(event.text for event in shown if isinstance(event, events.TextDelta))


async def test_an_answer_is_streamed_and_then_returned_whole(stand):
    stand.server.will(stand.says("It is clear, 21 °C 🌍."))
    shown = await ask(stand)
    said = [event for event in shown if not isinstance(event, events.AnswerMetered)]
    assert (type(said[0]), type(said[-2]), len(said) > 5) == (events.TextStarted, events.TextEnded, True)
    assert texts(shown) == "It is clear, 21 °C 🌍."
    assert whole(shown) == events.ModelFinished(
        [{"type": "text", "text": "It is clear, 21 °C 🌍."}],
        "end_turn",
        stand.model,
        {"input_tokens": 10, "output_tokens": 5},
        answered_by=stand.answered_by,
    )
    metered = [event for event in shown if isinstance(event, events.AnswerMetered)]
    assert metered[-1] == events.AnswerMetered(stand.model, shown[-1].usage, stand.answered_by)


async def test_the_conversation_does_not_follow_a_redirect(stand):
    with type(stand)().server as elsewhere:
        stand.server.will(stand.refuses(307, location=f"{elsewhere.url}/v1/messages"))
        words = await refusal(stand)
        assert (elsewhere.requests, len(stand.server.requests)) == ([], 1)
    assert words == (
        "The model's server redirects to another address (status 307). The conversation was not sent there. "
        f"Set {stand.address} to the address that answers."
    )


async def test_parallel_calls_are_streamed_in_pieces_and_returned_whole(stand):
    stand.server.will(stand.says("A look.", PARIS, ROME))
    shown = await ask(stand)
    for call_id, name, value in (PARIS, ROME):
        pieces = [e.text for e in shown if isinstance(e, events.ToolInputDelta) and e.tool_call_id == call_id]
        assert (len(pieces) > 1, events.ToolInputStarted(call_id, name) in shown) == (True, True)
        assert events.ToolInputReady(call_id, name, value) in shown
    blocks = [{"type": "tool_use", "id": i, "name": name, "input": value} for i, name, value in (PARIS, ROME)]
    assert (shown[-1].stop_reason, whole(shown).blocks[1:]) == ("tool_use", blocks)


STOPS = {"done": "end_turn", "length": "max_tokens", "refused": "refusal"}


@pytest.mark.parametrize("reason", STOPS)
async def test_every_end_has_one_name(stand, reason):
    stand.server.will(stand.says("So far.", reason=reason))
    finished = whole(await ask(stand))
    assert (finished.stop_reason, finished.blocks) == (STOPS[reason], [{"type": "text", "text": "So far."}])


async def test_an_unknown_end_keeps_the_answer_and_the_word_for_it(stand):
    stand.server.will(stand.says("So far.", reason="of_next_year"))
    finished = whole(await ask(stand))
    assert (finished.stop_reason, finished.stop_details) == ("unknown", {"reason": "of_next_year"})
    assert finished.blocks == [{"type": "text", "text": "So far."}]


PASSING = {
    "an error": lambda stand: stand.refuses(500, retry_after="0"),
    "a limit": lambda stand: stand.refuses(429, retry_after="0"),
    "an early close": lambda stand: stand.breaks(),
    "an error in the stream": lambda stand: stand.breaks("", stand.error("busy")),
    "a page of a proxy": lambda stand: Reply(items=[PAGE]),
    "an event of nothing": lambda stand: stand.breaks("", stand.malformed()[0]),
    "an event that is cut off": lambda stand: stand.breaks("", stand.malformed()[1]),
    "an event of another shape": lambda stand: stand.breaks("", stand.malformed()[2]),
}


@pytest.mark.parametrize("case", PASSING)
async def test_what_fails_before_the_first_word_is_tried_again(stand, case):
    stand.server.will(PASSING[case](stand), stand.says("Hi"))
    assert (texts(await ask(stand)), len(stand.server.requests)) == ("Hi", 2)


async def test_what_fails_after_the_first_word_is_told_and_not_tried_again(stand):
    for end in ((), *((event,) for event in stand.malformed())):
        stand.server.will(stand.breaks("Half an", *end))
        shown = []
        with pytest.raises(ProviderError) as failure:
            await read_into(shown, stand.provider().stream(ModelRequest(clerk, HELLO)))
        assert (texts(shown), str(failure.value)) == ("Half an", BROKEN_OFF)
    assert len(stand.server.requests) == 1 + len(stand.malformed())


async def test_a_secret_or_a_page_of_the_server_is_never_passed_on(stand):
    other = "sk-live-0123456789abcdef"
    planted = (
        stand.refuses(400, f"bad header: Bearer {stand.key}, see {other}"),
        Reply(items=[PAGE], status=403),
        Reply(items=[PAGE], status=400),
        stand.breaks("Half", stand.error(f"failed with {stand.key}")),
        stand.says("So far.", reason=f"odd {stand.key}"),
    )
    told = []
    for reply in planted[:-1]:
        stand.server.will(reply)
        told.append(await refusal(stand))
    stand.server.will(planted[-1])
    told.append(str((await ask(stand))[-1].stop_details))
    wrong = "sk-wrong-key-that-is-echoed-0123"
    told.append(await refusal(stand, key=wrong))
    found = [
        words for words in told for secret in (stand.key, other, wrong, "<html", "only-for-tests") if secret in words
    ]
    assert found == []


async def test_an_answer_that_nobody_waits_for_is_hung_up_on(stand):
    stand.server.will(stand.breaks("One, two", threading.Event()))
    answer = stand.provider().stream(ModelRequest(clerk, HELLO))
    async for event in answer:
        if isinstance(event, events.TextDelta):
            break
    await answer.aclose()
    assert stand.server.requests[0].gone.wait(60)


async def test_abilities_are_those_of_the_table(stand):
    thinker = Agent(name="clerk", system="Be careful.", tools=[getWeather], thinking=2048)
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "call_1", "name": "getWeather", "input": {"city": "Oz"}}
    png = {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="}
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    files = [{"type": "image", "source": png}, {"type": "document", "source": pdf}]
    failed = {"type": "tool_result", "tool_use_id": "call_1", "content": "none", "is_error": True}
    history = [
        ModelMessage("user", [*files, {"type": "text", "text": "Read this."}]),
        ModelMessage("assistant", [thought, call], stand.name, stand.model),
        ModelMessage("user", [failed]),
    ]
    stand.server.will(stand.says("I see."))
    async for _ in stand.provider().stream(ModelRequest(thinker, history)):
        pass
    body = stand.server.requests[0].body
    assert {name for name, seen in ABILITIES.items() if not seen(body)} == LACKS[stand.name]


@pytest.mark.django_db(transaction=True)
def test_a_turn_pauses_for_a_person_and_continues_with_the_answer(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(stand.says("I will ask.", REFUND), stand.says("It is refunded."))
    turn = say(chat, "Refund A-1")
    assert turn.state == TurnState.SUSPENDED
    restart()
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    turn = run(turn)
    refunded = '{"orderId": "A-1", "amount": 250.0, "status": "refunded", "executions": 1}'
    assert (turn.state, [part for part in stand.conversation() if part[0] != "system"]) == (
        TurnState.COMPLETED,
        [
            ("user", "Refund A-1"),
            ("assistant", "I will ask."),
            ("call", ("issueRefund", REFUND[2])),
            ("result", refunded),
        ],
    )
    assert turn.usage == {"input_tokens": 20, "output_tokens": 10}


@pytest.mark.django_db(transaction=True)
def test_calls_that_cannot_run_are_answered_and_a_cut_off_one_is_not_run(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    wrong = ("call_wrong", "getWeather", {"city": 5})
    unknown = ("call_unknown", "tellFortune", {})
    stand.server.will(stand.says("", PARIS, wrong, unknown), stand.says("Well.", ROME, reason="length"))
    turn = say(chat)
    assert (turn.state, turn.finish_reason) == (TurnState.COMPLETED, "length")
    told = [words for kind, words in stand.conversation() if kind == "result"]
    assert [
        word in text for word, text in zip(('"city": "Paris"', "valid string", "no tool named"), told, strict=True)
    ] == [True] * 3
    assert ToolCall.objects.get(tool_call_id="call_rome").state == CallState.FAILED


@pytest.mark.django_db(transaction=True)
def test_a_failure_is_stored_in_words_and_the_chat_continues(stand, chat, settings, monkeypatch):
    stand.configure(settings, monkeypatch)
    stand.server.will(stand.breaks("Half an"), stand.says("Here I am."))
    first, second = say(chat), say(chat, "Hello?")
    assert (first.state, first.error, second.state) == (TurnState.FAILED, BROKEN_OFF, TurnState.COMPLETED)
    assert [part["text"] for part in parts(second) if part["type"] == "text"] == ["Here I am."]


def test_the_clients_of_all_providers_share_the_certificates_of_the_machine():
    assert trusted() is trusted()


def test_a_file_named_in_the_environment_replaces_the_certificates_of_the_machine(tmp_path, monkeypatch):
    named = tmp_path / "cert.pem"
    named.write_bytes(certificate(x509.DNSName("models.example"))[0])
    monkeypatch.setenv("SSL_CERT_FILE", str(named))
    assert trusted.__wrapped__().cert_store_stats()["x509"] == 1
