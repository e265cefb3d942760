"""Shared by the Python client's adapters: title and message of a request, and the reported result."""

from __future__ import annotations

from typing import Any

import pytest
from pausepoint.calls import ToolCall, result_fields, title_and_message

from approvals.asking import titles
from approvals.asking.asks import MAX_MESSAGE
from approvals.models import AuditEntry
from tests.support.machine import Machine
from tests.support.people import alice, bob

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


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


class Silent:
    def __str__(self) -> str:
        raise RuntimeError


def recorded_of(result: dict[str, Any]) -> dict[str, Any]:
    """The audit log's record of the reported result of an approved call."""
    agent = Machine(alice())
    asked = agent.ask()
    assert Machine(bob()).decide(asked, "approve", input_digest=asked["input_digest"]).status == 200
    reply = agent.post(f"/requests/{asked['id']}/result", {"input_digest": asked["input_digest"], **result})
    assert reply.status == 201, reply
    return AuditEntry.objects.get(event="tool.result").data


@pytest.mark.django_db
@pytest.mark.parametrize(("output", "recorded"), [
    ({"refunded": 250, "rate": 0.5, "to": None, "at": [True]}, {"refunded": 250, "rate": 0.5, "to": None, "at": [True]}),
    (2**53, "9007199254740992"),
    ([2**53 - 1, 1e20], [2**53 - 1, 1e20]),
    ([10**5000], "(list: no text, because of ValueError)"),
    ("a\x00b", "a\ufffdb"),
    ({"\ud83d": 1}, '{"\ufffd": 1}'),
    (float("nan"), "nan"),
    ({1: "one"}, {"1": "one"}),
    ({1, 2}, "{1, 2}"),
    (nested(60), nested(60)),
    (nested(61), "[" * 61 + "0" + "]" * 61),
    (nested(100_000), "(list: no text, because of RecursionError)"),
    (Silent(), "(Silent: no text, because of RuntimeError)"),
    ("x" * 20_001, "x" * 19_999 + "…"),
    ([0] * 6666, [0] * 6666),
    ([0] * 6667, ("[" + "0, " * 6667)[:19_999] + "…"),
])  # fmt: skip
def test_every_output_is_recorded_if_need_be_as_text(output, recorded):
    assert recorded_of(result_fields(output, None))["output"] == recorded


@pytest.mark.django_db
@pytest.mark.parametrize(("error", "recorded"), [
    (ValueError("No order a\x00b \udc00"), "ValueError: No order a\ufffdb \ufffd"),
    (ValueError("x" * 3000), "ValueError: " + "x" * 1987 + "…"),
])  # fmt: skip
def test_every_error_is_recorded(error, recorded):
    assert recorded_of(result_fields(None, error))["error_text"] == recorded
