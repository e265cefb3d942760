"""What the adapters of the Python client share: the title and the message of a request, and the result that they report."""

from __future__ import annotations

import pytest
from pausepoint.calls import ToolCall, title_and_message

from approvals.asking import titles
from approvals.asking.asks import MAX_MESSAGE

LONG = "Which of these may I remove? " + ", ".join(f"table-{number}" for number in range(40))


@pytest.mark.parametrize(
    "text", ["Which colour?", " Which colour?\n", "x" * 200, "x" * 201, "Which colour?\nOf the shirt.", LONG]
)
def test_a_long_text_is_shown_whole_in_the_message_as_the_server_does_it(text):
    title, message = titles.title_and_message(text)
    assert title_and_message(text) == (title, {"message": message} if message else {})


def test_a_question_that_does_not_fit_into_a_title_has_its_whole_text_as_the_message():
    call = ToolCall("ask_human", "c1", {"question": LONG, "options": ["yes", "no"]})
    assert (call.question_title, call.question()["message"]) == (f"{LONG[:199]}…", LONG)
    assert "message" not in ToolCall("ask_human", "c1", {"question": "Which colour?"}).question()


def test_a_message_has_at_most_the_characters_that_the_server_takes():
    _, asked = title_and_message("x" * 30_000, "why")
    assert len(asked["message"]) == MAX_MESSAGE
    assert title_and_message("Write?", "a", "", "b") == ("Write?", {"message": "a\n\nb"})
