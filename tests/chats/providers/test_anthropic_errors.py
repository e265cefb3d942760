"""Error messages when Claude can't be asked, and retried failures."""

from __future__ import annotations

import time
from email.utils import formatdate
from itertools import chain

import pytest

from chats.agent.provider import ModelRequest, ProviderError
from chats.providers.anthropic import AnthropicProvider
from chats.providers.anthropic.patience import PendingResponse
from chats.providers.anthropic.stream import StreamBroken, StreamedAnswer
from tests.chats.providers.test_anthropic_provider import HELLO, NEW, WAIT, agent, ask, claude, refusal
from tests.support.anthropic_server import KEY, Close, Reply, answer, block_events, error, refuses, says, text

__all__ = ["claude"]

TOO_LONG = "This chat is too long for the model. Start a new chat."
NO_CREDIT = "The account of ANTHROPIC_API_KEY has no credit left. Add credit, then send your message again."
NO_ACCESS = f"The API key does not have access to the model {NEW}. Check ANTHROPIC_API_KEY and HITL_MODEL."
LIMIT = f"Claude's rate limit is reached. {WAIT}"
REFUSALS = {
    "403": (refuses(403, "permission_error"), NO_ACCESS),
    "404": (refuses(404, "not_found_error"), f"No model is named {NEW}. Check HITL_MODEL, or the agent's model."),
    "402": (refuses(402, "billing_error"), NO_CREDIT),
    "credit": (refuses(400, "invalid_request_error", "Your credit balance is too low"), NO_CREDIT),
    "400": (refuses(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), TOO_LONG),
    "413": (refuses(413, "request_too_large"), TOO_LONG),
    "other": (refuses(400, "invalid_request_error", "no"), "Claude did not accept the request: no"),
    "429": (refuses(429, "rate_limit_error", retry_after="61"), LIMIT.replace("a minute", "2 minutes")),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_permanent_error_is_reported_at_once(claude, case):
    reply, words = REFUSALS[case]
    claude.will(reply)
    assert await refusal(claude) == (words, 1)


async def test_a_long_retry_after_is_not_waited_for(claude):
    claude.will(refuses(429, "rate_limit_error", retry_after=formatdate(time.time() + 3600, usegmt=True)))
    assert await refusal(claude) == (LIMIT.replace("a minute", "60 minutes"), 1)


async def test_a_wrong_key_is_reported_at_once(claude):
    assert await refusal(claude, key="sk-ant-wrong") == ("Claude rejected the API key. Check ANTHROPIC_API_KEY.", 1)


USELESS_KEYS = {
    "": "No API key for Claude is configured. Set ANTHROPIC_API_KEY, or HITL_PROVIDER=scripted.",
    "sk-änt": "ANTHROPIC_API_KEY contains invalid characters. Copy it again.",
}


@pytest.mark.parametrize("key", USELESS_KEYS)
def test_no_request_is_sent_without_a_valid_key(key):
    with pytest.raises(ProviderError) as failure:
        AnthropicProvider(api_key=key, model=NEW)
    assert str(failure.value) == USELESS_KEYS[key]


PASSING = {
    "500": refuses(500, "api_error", retry_after="0"),
    "529": refuses(529, "overloaded_error", retry_after="0"),
    "429": refuses(429, "rate_limit_error", retry_after="0"),
    "an error before the first block": Reply(
        items=[answer()[0], error("overloaded_error")], headers={"retry-after": "0"}
    ),
    "an early close": Reply(items=[answer()[0], Close.EARLY]),
    "a clean close": Reply(items=[answer()[0], Close.CLEAN]),
    "rubbish": Reply(items=[b"event: message_start\ndata: <html>\n\n"]),
    "no stream at all": Reply(items=[b"<html>Welcome to the proxy</html>"]),
}


@pytest.mark.parametrize("case", PASSING)
async def test_a_failure_before_the_first_output_is_retried(claude, case):
    claude.will(PASSING[case], says(text("Hi")))
    assert await ask(claude) == [text("Hi")]
    assert len(claude.requests) == 2


BEGUN = block_events(0, text("Half an ans"))
MALFORMED = {
    "null": b"event: content_block_delta\ndata: null\n\n",
    "a number": b"event: content_block_delta\ndata: 7\n\n",
    "a list": b"event: content_block_start\ndata: []\n\n",
    "no type": b"event: message_delta\ndata: {}\n\n",
    "a start of null": {"type": "content_block_start", "index": 9, "content_block": None},
    "a start without an index": {"type": "content_block_start", "content_block": text("")},
    "a text of null": {"type": "content_block_start", "index": 9, "content_block": {"type": "text", "text": None}},
    "a call without a name": {
        "type": "content_block_start",
        "index": 9,
        "content_block": {"type": "tool_use", "id": "t"},
    },
    "an end of null": {"type": "message_delta", "delta": None},
    "a message of null": {"type": "message_start", "message": None},
}


@pytest.mark.parametrize("case", MALFORMED)
async def test_a_malformed_event_is_retried_before_the_first_output_and_told_after_it(claude, case):
    claude.will(Reply(items=[answer()[0], MALFORMED[case]]), says(text("Hi")))
    assert await ask(claude) == [text("Hi")]
    claude.will(Reply(items=[answer()[0], *BEGUN, MALFORMED[case], *answer()[-2:]]))
    words = "The model's answer ended before it was complete. Send your message again."
    assert await refusal(claude) == (words, 3)


async def test_a_piece_of_text_that_is_missing_breaks_the_answer_off(claude):
    start, delta, *rest = BEGUN
    claude.will(Reply(items=[answer()[0], start, delta | {"delta": {"type": "text_delta", "text": None}}, *rest]))
    words = "The model's answer ended before it was complete. Send your message again."
    assert await refusal(claude) == (words, 1)


async def test_a_page_of_a_proxy_is_not_taken_for_an_answer_of_claude(claude):
    claude.will(Reply(items=[b"<html><h1>Forbidden</h1></html>"], status=403))
    words = "Something between this server and Claude answered with status 403. Check ANTHROPIC_BASE_URL."
    assert await refusal(claude) == (words, 1)


async def test_thinking_tokens_are_counted(claude):
    details = {"output_tokens_details": {"thinking_tokens": 7}}
    *events, delta, stop = answer(text("Hi"), output_tokens=9)
    claude.will(Reply(items=[*events, delta | {"usage": delta["usage"] | details}, stop]))
    provider = AnthropicProvider(api_key=KEY, model=NEW, base_url=claude.url)
    *_, finished = [event async for event in provider.stream(ModelRequest(agent(), HELLO))]
    assert finished.usage == {"input_tokens": 10, "output_tokens": 9, "thinking_tokens": 7}


def start(**block):
    return {"type": "content_block_start", "index": 0, "content_block": block}


def delta(**piece):
    return {"type": "content_block_delta", "index": 0, "delta": piece}


def stop(reason, **details):
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_details": details}}


def counted(iterations):
    return {"type": "message_start", "message": {"usage": {"iterations": iterations}}}


DEEP = None
for _ in range(5000):
    DEEP = [DEEP]
WRONG_INSIDE = {
    "a stop reason that is a list": [stop(["end_turn"])],
    "details without end": [stop("refusal", why=DEEP)],
    "a number of rounds": [counted(5)],
    "a number in words": [counted([{"type": "compaction", "input_tokens": "many"}])],
    "no signature": [start(type="thinking", signature=None), delta(type="signature_delta", signature="x")],
    "a number of citations": [start(type="text", citations=7), delta(type="citations_delta", citation={})],
    "a list for a summary": [start(type="compaction", content=["a"]), delta(type="compaction_delta", content="x")],
}


@pytest.mark.parametrize("case", WRONG_INSIDE)
def test_a_wrong_value_inside_an_event_breaks_the_stream_and_completes_nothing(case):
    streamed = StreamedAnswer(NEW)
    with pytest.raises(StreamBroken):
        list(chain.from_iterable(map(streamed.take, WRONG_INSIDE[case])))
    assert streamed.complete is False


NESTED = b"event: message_start\ndata: " + b"[" * 200_000 + b"\n\n"


@pytest.mark.parametrize("what", [counted(5), NESTED], ids=["a wrong type", "more levels than can be read"])
async def test_what_cannot_be_read_before_the_first_output_is_tried_again(claude, caplog, what):
    claude.will(Reply(items=[what]), says(text("Hi")))
    assert (await ask(claude), len(claude.requests)) == ([text("Hi")], 2)
    failed = [record.getMessage() for record in caplog.records if "Try" in record.getMessage()]
    assert failed == [f"Try 1 of 4 to ask {NEW} failed: StreamBroken"]


@pytest.mark.parametrize("error", [RuntimeError, OSError, RecursionError])
async def test_whatever_ends_the_reading_is_told_at_once_and_never_logged(caplog, error):
    async def fail():
        raise error("a secret of the upstream")

    reading = PendingResponse(fail)
    with pytest.raises(StopAsyncIteration):
        await reading.next(1)
    await reading.close()
    assert (type(reading.failure), "secret" in caplog.text, error.__name__ in caplog.text) == (
        StreamBroken,
        False,
        True,
    )
