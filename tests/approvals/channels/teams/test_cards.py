"""Cards in Teams show texts as they are, offer buttons only where all is shown, and follow their requests through failures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.models import ChannelCard, ChannelClick, ChannelConnection, Decision, OutboxEvent
from approvals.models.channels import Shows
from approvals.states import Channel, Door, Kind, Verdict
from tests.support.desk.carrying import later
from tests.support.desk.requests import decide, make_request
from tests.support.desk.slack import carry, outcomes
from tests.support.desk.teams import card_in, connected, linked, rule_for
from tests.support.people import alice, bob
from tests.support.teams import Teams
from tests.support.teams.cards import titles
from tests.support.teams.server import LOST, UNREACHED

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with connected(settings) as teams:
        yield teams


def due_again() -> None:
    past = timezone.now() - timedelta(seconds=1)
    for model in (ChannelCard, ChannelClick):
        model.objects.update(next_attempt_at=past)
    later()


def test_markup_dates_and_repeated_spaces_of_a_model_are_shown_as_they_are(teams):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    text = "**bold** [x](https://evil.example) {{DATE(2017-02-14T06:08:39Z,LONG)}} a   b"
    make_request(alice(), title=f"May I? {text[:40]}", input={"text": text})
    card = card_in(teams, ops)
    # The stand-in objects to each run with a function.
    assert "{{DATE(2017-02-14T06:08:39Z,LONG)}} a\u00a0\u00a0 b" in card.words
    assert {each["type"] for each in card.card["body"]} == {"RichTextBlock", "ActionSet"}


@pytest.mark.parametrize("shows", [Shows.TITLE, Shows.FIELDS])
def test_a_card_that_does_not_show_everything_can_only_be_opened(teams, shows):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops, shows)
    make_request(alice())
    assert titles(card_in(teams, ops).card) == ["Open"]


@pytest.mark.parametrize(
    ("changes", "offered"),
    [
        ({"input": {f"n{number}": "界" * 1_500 for number in range(3)}}, ["Approve", "Reject…", "Open"]),
        ({"input": {f"n{number}": "😀" * 2_800 for number in range(3)}}, ["Open"]),
        ({"input": {"text": "x" * 20_000}}, ["Open"]),
        ({"input": {"password": "hunter2"}}, ["Open"]),
        ({"input": {"text": "a\u202eb"}}, ["Approve", "Reject…", "Open"]),
        ({"priority": "critical"}, ["Open"]),
    ],
)
def test_a_card_stays_below_28_kb_and_offers_no_answer_to_what_it_does_not_show(teams, changes, offered):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice(), **changes)
    assert titles(card_in(teams, ops).card) == offered


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["**x**", "y"]}}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "date-time"}}},
        {"type": "object", "properties": {"a": {"type": "string", "title": "{{DATE(2017-02-14T06:08:39Z,LONG)}}"}}},
        {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}},
    ],
)
def test_a_form_whose_inputs_a_card_cannot_show_as_they_are_is_opened(teams, schema):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice(), kind=Kind.FORM, response_schema=schema)
    assert titles(card_in(teams, ops).card) == ["Decline…", "Open"]


def test_an_update_that_fails_is_repeated_until_the_card_is_right(teams):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(teams, ops)
    decide(request, approver, Verdict.APPROVE)
    teams.faults["PUT"] += [UNREACHED, (500, "ServiceError"), (429, "TooManyRequests")]
    for _ in range(3):
        carry()
        due_again()
    assert "Approved" not in card.words
    due_again()
    for _ in range(50):
        if "Approved by bob" in card.words:
            break
        due_again()
        carry()
    assert ("Approved by bob" in card.words, ChannelCard.objects.get().ended) == (True, True)
    assert ChannelConnection.objects.get().problem == ""


def test_a_card_posted_without_being_stored_is_adopted_at_its_first_click(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    teams.faults["POST"].append(LOST)
    carry()
    [lost] = ops.messages
    assert (ChannelCard.objects.count(), OutboxEvent.objects.get(channel=Channel.CARD).attempts) == (0, 1)
    person.click(lost, "Approve")
    carry()
    assert (outcomes(), "Approved by bob" in lost.words) == (["decided"], True)


def test_the_thread_is_told_what_ran_and_a_removed_bot_is_a_problem_in_words(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay")
    card = card_in(teams, ops)
    person.click(card, "Approve")
    carry()
    result = actions.ReportedResult(input_digest=Decision.objects.get().approved_digest, output={"ok": True})
    actions.report_result(request.pk, result, scope=request.scope, by=request.requested_by, via=Door.REST)
    carry()
    assert [each.words for each in ops.messages if each.thread == card.id] == [
        "Ran exactly what was approved: Succeeded."
    ]
    ops.with_bot = False
    make_request(request.requested_by, title="Again?")
    carry()
    connection = ChannelConnection.objects.get()
    assert (connection.problem, connection.problem_in) == ("BotNotInConversationRoster", ops.id)


def test_many_new_requests_are_one_message_without_buttons_to_decide(teams):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    asker = alice()
    for number in range(12):
        make_request(asker, title=f"Request {number}?")
    carry()
    [digest] = ops.messages
    assert (titles(digest.card), ChannelCard.objects.count()) == (["Open Inbox"], 0)
