"""Bodies: every shape that the real clients send is accepted, and nothing else, in bounded time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.exceptions import Invalid
from chats.models import Chat, Message
from chats.protocols.ai_sdk import body as ai_sdk_body
from tests.support import people
from tests.support.machines import Client, machine, user_message

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "file", "step-start", "tool-askUser", "dynamic-tool", "tool-"]) | JSON},
    optional={"text": JSON, "toolCallId": JSON, "state": JSON, "output": JSON, "approval": JSON, "input": JSON},
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(max_size=3) | JSON,
        "role": st.sampled_from(["user", "assistant", "system"]) | JSON,
        "parts": st.lists(PARTS | JSON, max_size=3) | JSON,
    },
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(min_size=1, max_size=3) | JSON,
        "messages": st.lists(MESSAGES, max_size=3) | JSON,
        "message": MESSAGES | JSON,
        "trigger": st.sampled_from(["submit-message", "regenerate-message"]) | JSON,
        "messageId": st.text(max_size=3) | JSON,
        "agent": st.text(max_size=3) | JSON,
    },
)


@settings(max_examples=20)
@given(BODIES | JSON)
def test_any_json_is_accepted_or_refused_as_invalid(body):
    try:
        posted = ai_sdk_body.read(body)
    except Invalid as refusal:
        assert refusal.errors
    else:
        assert 1 <= len(posted.chat_id) <= 200
        assert posted.last["role"] in ("user", "assistant", "system")


def test_the_answering_message_is_the_named_or_the_last_one():
    user, first, second = (
        user_message("x", "u1"),
        *({"id": name, "role": "assistant", "parts": []} for name in ("a1", "a2")),
    )
    read = ai_sdk_body.read
    assert read({"id": "c", "messages": [user, first, second]}).answers == second
    assert read({"id": "c", "messages": [user, first, second], "messageId": "a1"}).answers == first
    assert read({"id": "c", "messages": [first, user], "messageId": "a1"}).answers == first
    assert read({"id": "c", "messages": [first, user], "messageId": None}).answers is None
    assert read({"id": "c", "message": second}).answers == second
    assert read({"id": "c", "messages": [user, first], "trigger": "regenerate-message"}).answers is None


@pytest.mark.parametrize(
    ("messages", "first"),
    [
        ([0] * 190_000, ["messages.0"]),
        ([{}] * 190_000, ["messages.0.id", "messages.0.role", "messages.0.parts"]),
        ([{"id": "u1", "role": "user", "parts": [0] * 190_000}], ["messages.0.parts.0"]),
    ],
)
def test_messages_are_read_to_the_first_wrong_one_however_many_there_are(messages, first):
    with pytest.raises(Invalid) as refusal:
        ai_sdk_body.read({"id": "c1", "messages": messages})
    assert list(refusal.value.errors) == first


pytestmark = pytest.mark.django_db(transaction=True)
TEXT = {"type": "text", "text": "hello"}


def body(**given) -> bytes:
    return json.dumps({"id": "c1", "messages": [user_message("hello", "u1")], **given}).encode()


HOSTILE = {
    "not json": (b"{", 400, "bad_body"),
    "empty": (b"", 400, "bad_body"),
    "not utf-8": (b'{"id": "\xff\xfe"}', 400, "bad_body"),
    "NaN": (body().replace(b'"c1"', b"NaN"), 400, "bad_body"),
    "deep": (b'{"id":"x","messages":' + b"[" * 200_000, 400, "bad_body"),
    "huge integer": (b'{"id":' + b"9" * 10_000 + b"}", 400, "bad_body"),
    "a list": (b"[]", 422, "invalid"),
    "deep in a part": (body(message=None).replace(b'"hello"', b"[" * 500 + b"]" * 500), 422, "invalid"),
    "part of a character": (body().replace(b'"hello"', b'"\\ud800"'), 422, "invalid"),
    "NUL in a text": (body().replace(b'"hello"', b'"\\u0000"'), 422, "invalid"),
    "NUL in the id": (body(id="a\0b"), 422, "invalid"),
    "a long id": (body(id="x" * 201), 422, "invalid"),
    "an unknown trigger": (body(trigger="explode"), 422, "invalid"),
    "a trigger that is a list": (body(trigger=[]), 422, "invalid"),
    "an unknown agent": (body(agent="nobody"), 422, "bad_message"),
    "a file": (
        body(messages=[{"id": "u", "role": "user", "parts": [{"type": "file", "url": "data:,x"}]}]),
        422,
        "invalid",
    ),
    "a system message": (body(messages=[{"id": "s", "role": "system", "parts": [TEXT]}]), 422, "invalid"),
    "blank": (body(messages=[user_message(" \n", "u1")]), 422, "bad_message"),
    "too long a text": (body(messages=[user_message("x" * 20_001, "u1")]), 422, "bad_message"),
    "an unknown message edited": (body(messageId="nope"), 409, "unknown_message"),
    "an unknown message regenerated": (body(trigger="regenerate-message", messageId="nope"), 404, "not_found"),
    "a message of nobody's": (body(messages=[{"id": "a1", "role": "assistant", "parts": []}]), 404, "not_found"),
    "a part that is no object": (body(messages=[{"id": "a1", "role": "assistant", "parts": [1]}]), 422, "invalid"),
    "a call without an id": (
        body(messages=[{"id": "a1", "role": "assistant", "parts": [{"type": "tool-x", "state": "input-available"}]}]),
        422,
        "invalid",
    ),
    "a message of megabytes": (body(messages=[user_message("x" * 2_000_000, "u1")]), 422, "invalid"),
    "10,000 wrong messages": (body(messages=[{}] * 10_000), 422, "invalid"),
    "half a million parts": (
        body(messages=[{"id": "a1", "role": "assistant", "parts": [{"type": "x"}] * 500_000}]),
        400,
        "bad_body",
    ),
    "50 MB": (b'{"id":"' + b"x" * 50_000_000 + b'"}', 413, "too_large"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_invalid_body_is_refused_and_stores_nothing(name):
    raw, status, code = HOSTILE[name]
    answer = machine(people.alice()).post("/api/chat", None, raw=raw)
    assert (answer.status, answer.code) == (status, code)
    assert len(answer.text) < 5000
    assert (Chat.objects.count(), Message.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_only_json_is_accepted(kind):
    answer = machine(people.alice()).post("/api/chat", None, raw=b"a=b", headers={"content-type": kind})
    assert (answer.status, answer.code) == (415, "not_json")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/chat", "POST"),
        ("DELETE", "/api/chat", "POST"),
        ("POST", "/api/chat/c1", "GET"),
        ("POST", "/api/chat/c1/stream", "GET"),
        ("GET", "/api/chat/c1/stop", "POST"),
        ("GET", "/api/v1/client-tokens", "POST"),
    ],
)
def test_a_wrong_method_gets_the_allowed_ones(method, path, allowed):
    answer = machine(people.alice()).call(method, path)
    assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", allowed)


@pytest.mark.parametrize("chat", ["a/b", "../../etc/passwd", "ä ö", "?x=1#y", "%2F", "x/stream/y"])
def test_a_chat_may_have_any_id(chat):
    client = Client(machine(people.alice()), chat)
    client.say("hello")
    assert (len(client.messages), Chat.objects.get().public_id) == (2, chat)


def test_several_texts_and_white_space_are_stored_as_sent():
    client = Client(machine(people.alice()))
    parts = [{"type": "text", "text": "  hello\r\n"}, {"type": "text", "text": "there "}]
    client.messages = [{"id": "u1", "role": "user", "parts": parts}]
    client.post()
    client.read()
    assert client.messages[0]["parts"] == parts


def test_a_client_may_send_only_the_last_message():
    client = Client(machine(people.alice()))
    answer = client.machine.post("/api/chat", {"id": "c1", "message": user_message("ask", "u1")})
    assert answer.types[-1] == "finish"
    client.read()
    client.fill("Express")
    answer = client.machine.post("/api/chat", {"id": "c1", "message": client.last})
    assert answer.chunks[0]["messageId"] == client.last["id"]
    assert client.read()["status"] == "idle"
