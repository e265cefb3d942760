"""A chat that goes on with another model: the new one is sent only content that it accepts, and the change is noted once."""

from __future__ import annotations

import pytest

from chats import providers
from tests.support import people
from tests.support.anthropic_server import says, text, thinking
from tests.support.chats import claude as support
from tests.support.chats.claude import sent
from tests.support.chats.turns import converse, parts, run, say

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "claude-haiku-4-5"


@pytest.fixture
def claude(settings, monkeypatch):
    with support.answering(settings, monkeypatch) as server:
        yield server


def remarks(turn):
    return [part["data"] for part in parts(turn) if part["type"] == "data-remark"]


def change_model(settings, model):
    settings.HITL_MODEL = model
    providers._make.cache_clear()


def test_a_change_of_model_is_said_once_with_what_the_new_one_does_not_see(claude, settings):
    claude.will(says(thinking("Hm.", "s"), text("Hi.")), says(text("Yes.")), says(text("Sure.")))
    turn = converse(people.alice(), "Hello")
    change_model(settings, OTHER)
    second = run(say(turn.chat, "And you?"))
    third = run(say(turn.chat, "Really?"))
    change = {"code": "model_changed", "before": support.MODEL, "now": OTHER, "answers": 1}
    assert [remarks(one) for one in (turn, second, third)] == [[], [change], []]
    assert sent(claude) == [[text("Hello")], [text("Hi.")], [text("And you?")], [text("Yes.")], [text("Really?")]]


def test_a_change_back_is_said_too_and_nothing_is_left_out_of_plain_texts(claude, settings):
    claude.will(says(text("Hi.")), says(text("Yes.")))
    turn = converse(people.alice(), "Hello")
    change_model(settings, OTHER)
    second = run(say(turn.chat, "And you?"))
    assert remarks(second) == [{"code": "model_changed", "before": support.MODEL, "now": OTHER}]


def test_claude_says_that_it_follows_the_scripted_provider(claude, settings):
    settings.HITL_PROVIDER = "scripted"
    turn = converse(people.alice(), "Hello")
    settings.HITL_PROVIDER = "anthropic"
    claude.will(says(text("Hi.")))
    assert remarks(run(say(turn.chat, "And you?"))) == [
        {"code": "model_changed", "before": "scripted", "now": support.MODEL}
    ]
