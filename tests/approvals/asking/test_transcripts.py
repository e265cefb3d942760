"""The conversation before a request is stored with it, bounded, and shown as plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.api.requests import NewRequest
from approvals.asking.transcripts import CUT, KEPT_CHARACTERS, MAX_MESSAGES, MAX_TEXT_BYTES, fit_messages, problem
from approvals.models import ApprovalRequest
from approvals.states import Kind
from chats.models import Message
from tests.support.chats.turns import converse, only_request
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, stored
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

SAID = [{"role": "user", "text": "It **broke**."}, {"role": "assistant", "text": "<script>alert(1)</script>"}]


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=30) | st.just("\u20ac" * 9000)), max_size=12
    )
)
def test_the_end_of_a_conversation_is_kept_and_within_bounds(messages):
    found = fit_messages(messages)
    assert problem(found) == ""
    said = [(role, text.strip()) for role, text in messages if text.strip()]
    cut = [
        (role, text if len(text) <= KEPT_CHARACTERS else f"{text[:KEPT_CHARACTERS]}\n\n{CUT}") for role, text in said
    ]
    assert [(one["role"], one["text"]) for one in found[:-1]] == cut[len(cut) - len(found) : -1]
    assert bool(found) == bool(said)


def test_of_a_long_last_message_the_words_right_before_the_request_are_kept():
    long = "".join(f"{number} " for number in range(2_000)).strip()
    begins, ends = fit_messages([("user", long), ("assistant", long)])
    assert (begins["text"], ends["text"]) == (
        f"{long[:KEPT_CHARACTERS]}\n\n{CUT}",
        f"{CUT}\n\n{long[-KEPT_CHARACTERS:]}",
    )


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "user", "text": "x"}] * (MAX_MESSAGES + 1), "more than 6 messages"),
        ([{"role": "user", "text": "\u20ac" * (MAX_TEXT_BYTES // 3 + 1)}], "more than 20,000 bytes"),
        ([{"role": "robot", "text": "x"}], "every message must have a role"),
        ([{"role": "user"}], "not a {role, text} object"),
        (["x"], "not a {role, text} object"),
    ],
)
def test_a_conversation_out_of_bounds_is_refused_with_a_reason(messages, words):
    assert words in problem(messages)


@pytest.mark.django_db(transaction=True)
def test_the_last_messages_of_a_chat_are_stored_when_it_pauses():
    request = only_request(converse(alice(), "Please refund order 4711, 250 euros"))
    said = [
        {"role": "user", "text": "Please refund order 4711, 250 euros"},
        {"role": "assistant", "text": "Let me refund order 4711."},
    ]
    assert stored(request).said_before == said
    Message.objects.update(parts=[{"type": "text", "text": "never said"}])
    assert ApprovalRequest.objects.get().said_before == said


@pytest.mark.django_db
def test_over_rest_messages_are_stored_and_a_request_without_them_keeps_its_digest():
    agent = Machine(alice())
    assert agent.ask(messages=SAID)["messages"] == SAID
    for messages, field in (
        (SAID * 4, "messages"),
        ([{"role": "robot", "text": "x"}], "messages.0.role"),
        ([{"role": "user", "text": "x" * 9_000}] * 3, "messages"),
    ):
        refused = agent.post("/requests", APPROVAL | {"messages": messages})
        assert (refused.refusal, list(refused.body["errors"])) == ((422, "invalid"), [field])
    plain = NewRequest(**APPROVAL)
    assert (
        plain.digest() == NewRequest(**APPROVAL, messages=[]).digest() != NewRequest(**APPROVAL, messages=SAID).digest()
    )


@pytest.mark.django_db
def test_the_page_shows_the_conversation_as_text_and_lists_do_not_read_it():
    request = make_request(alice(), Kind.APPROVAL, said_before=SAID)
    client = browser(bob())
    (section,) = parse(client.get(request.get_absolute_url()).text).find("section", class_="conversation")
    assert [one.words for one in section.find("span", class_="role")] == ["User", "Agent"]
    assert [one.words for one in section.find("strong")] == ["broke"]
    assert section.find("script") == []
    assert "conversation" not in client.get("/").text
