"""The limits of Slack's documentation, which the stand-in checks and slack_sdk does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.slack.block_rules import message_errors, view_errors

MODAL = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "Reject"},
    "submit": {"type": "plain_text", "text": "Reject"},
    "blocks": [
        {
            "type": "input",
            "block_id": "reason",
            "label": {"type": "plain_text", "text": "Reason"},
            "element": {"type": "plain_text_input", "action_id": "value"},
        },
    ],
}


def button(**changes: Any) -> dict[str, Any]:
    return {"type": "button", "text": {"type": "plain_text", "text": "Go"}, "action_id": "go"} | changes


def actions(*elements: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)} | changes


def radio(count: int, **changes: Any) -> dict[str, Any]:
    texts = [{"text": {"type": "plain_text", "text": str(number)}, "value": str(number)} for number in range(count)]
    return {"type": "radio_buttons", "action_id": "choice", "options": texts} | changes


def select(count: int) -> dict[str, Any]:
    return radio(count) | {"type": "static_select"}


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "plain_text", "text": text}}


@pytest.mark.parametrize(
    ("blocks", "error"),
    [
        ([section("x")] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
        ([section("x" * 3001)], "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
        ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        ([section("a") | {"block_id": "x"}] * 2, "`block_id` must be unique: x [json-pointer:/blocks]"),
        (
            [actions(button(), button())],
            "`action_id` must be unique in its block: go [json-pointer:/blocks/0/elements]",
        ),
        (
            [actions(*[button(action_id=str(number)) for number in range(26)])],
            "no more than 25 items allowed [json-pointer:/blocks/0/elements]",
        ),
        (
            [actions(button(value="x" * 2001))],
            "must be less than 2001 characters [json-pointer:/blocks/0/elements/0/value]",
        ),
        ([actions(button(colour="red"))], "invalid additional property: colour [json-pointer:/blocks/0/elements/0]"),
        (
            [actions(button(style="default"))],
            "value must be one of primary, danger [json-pointer:/blocks/0/elements/0/style]",
        ),
        ([actions(radio(11))], "no more than 10 items allowed [json-pointer:/blocks/0/elements/0/options]"),
        ([actions(select(101))], "no more than 100 items allowed [json-pointer:/blocks/0/elements/0/options]"),
        (
            [actions(radio(1, options=[{"text": {"type": "plain_text", "text": "a"}, "value": "x" * 151}]))],
            "must be less than 151 characters [json-pointer:/blocks/0/elements/0/options/0/value]",
        ),
        (
            [actions(radio(2, initial_option=select(3)["options"][2]))],
            "initial option must exactly match one of the provided options [json-pointer:/blocks/0/elements/0]",
        ),
        (
            [actions({"type": "plain_text_input"})],
            "unsupported type: plain_text_input [json-pointer:/blocks/0/elements/0/type]",
        ),
        (
            [{"type": "header", "text": {"type": "mrkdwn", "text": "a"}}],
            "value must be one of plain_text [json-pointer:/blocks/0/text/type]",
        ),
        ([{"type": "carousel"}], "unsupported type: carousel [json-pointer:/blocks/0/type]"),
    ],
)
def test_blocks_beyond_the_documented_limits_are_refused(blocks: list[Any], error: str) -> None:
    assert message_errors(blocks) == [f"[ERROR] {error}"]


@pytest.mark.parametrize(
    ("view", "error"),
    [
        (
            MODAL | {"title": {"type": "plain_text", "text": "x" * 25}},
            "must be less than 25 characters [json-pointer:/view/title/text]",
        ),
        (
            MODAL | {"private_metadata": "x" * 3001},
            "must be less than 3001 characters [json-pointer:/view/private_metadata]",
        ),
        (MODAL | {"blocks": [section("x")] * 101}, "no more than 100 items allowed [json-pointer:/view/blocks]"),
        (
            {name: MODAL[name] for name in MODAL if name != "submit"},
            "missing required field: submit [json-pointer:/view]",
        ),
    ],
)
def test_modals_beyond_the_documented_limits_are_refused(view: dict[str, Any], error: str) -> None:
    assert view_errors(view) == [f"[ERROR] {error}"]


def test_what_the_limits_just_allow_is_accepted() -> None:
    assert message_errors([section("x" * 3000), *[{"type": "divider"}] * 48, actions(select(100))]) == []
    assert view_errors(MODAL | {"blocks": [section("x")] * 100, "private_metadata": "x" * 3000}) == []
