"""A Cedar-OS front end's data on the end of an answer."""

from __future__ import annotations

import pytest

from tests.support import people
from tests.support.anthropic_server import START, Close, Reply, block_events, text
from tests.support.chats import claude as support
from tests.support.chats.claude import ends
from tests.support.chats.front_end import front_end, shown

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(settings, monkeypatch):
    with support.answering(settings, monkeypatch) as server:
        yield front_end(people.alice()), server


def test_an_answer_that_was_cut_off_ends_with_a_line_that_says_so(page):
    here, claude = page
    claude.will(ends(text("So far"), stop_reason="max_tokens"))
    words = "The answer was cut off because it reached its maximum length. Send “Continue” to get the rest."
    assert shown(here.say("Hello")) == ["So far", {"type": "progress_update", "state": "complete", "text": words}]


def test_an_answer_that_was_broken_off_ends_with_its_error_alone(page):
    here, claude = page
    claude.will(Reply(items=[START, *block_events(0, text("Half an"))[:-1], Close.EARLY]))
    words = "The model's answer ended before it was complete. Send your message again."
    assert shown(here.say("Hello")) == ["Half an", {"type": "progress_update", "state": "error", "text": words}]
