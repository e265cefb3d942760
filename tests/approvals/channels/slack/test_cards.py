"""Cards in Slack are posted once, follow their requests, and are repeated after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.background import sweep
from approvals.models import (
    ChannelCard,
    ChannelClick,
    ChannelConnection,
    Decision,
    OutboxEvent,
    Preferences,
    ToolSettings,
)
from approvals.states import Channel, Door, Verdict
from tests.support.desk.carrying import group_of, later
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.slack import card_in, carry, connected, linked, outcomes, rule_for, stored_card
from tests.support.people import alice, bob, make_person
from tests.support.slack import Slack
from tests.support.slack.faults import LOST, UNREACHED, fails, limited

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def due_again() -> None:
    past = timezone.now() - timedelta(seconds=1)
    for model in (ChannelCard, ChannelClick):
        model.objects.update(next_attempt_at=past)
    later()


def test_an_update_that_fails_is_repeated_until_the_card_is_right(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    decide(request, approver, Verdict.APPROVE)
    slack.will("chat.update", UNREACHED, fails("internal_error"), limited(1))
    for _ in range(3):
        carry()
        due_again()
        assert "Approved" not in card.words
    stored_row = stored_card(card)
    assert (stored_row.ended, stored_row.attempts > 0) == (False, True)
    slack.limited_until.clear()
    carry()
    assert ("Approved by bob" in card.words, stored_card(card).ended) == (True, True)
    assert ChannelConnection.objects.get().problem == ""


def test_a_card_posted_without_being_stored_is_adopted_at_its_first_click(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    make_request(alice())
    slack.will("chat.postMessage", LOST)
    carry()
    [lost] = ops.messages
    assert (ChannelCard.objects.count(), OutboxEvent.objects.get(channel=Channel.CARD).attempts) == (0, 1)
    due_again()
    card = card_in(slack, ops)
    assert (card.ts != lost.ts, ChannelCard.objects.count()) == (True, 1)
    person.click(lost, "pausepoint.approve")
    carry()
    assert (outcomes(), "Approved by bob" in card.words, "Approved by bob" in lost.words) == (["decided"], True, True)


def test_the_thread_is_told_what_ran(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay")
    card = card_in(slack, ops)
    person.click(card, "pausepoint.approve")
    carry()
    row = stored_card(card)
    assert (row.ended, row.reported) == (True, False)
    result = actions.ReportedResult(input_digest=Decision.objects.get().approved_digest, output={"ok": True})
    actions.report_result(request.pk, result, scope=request.scope, by=request.requested_by, via=Door.REST)
    carry()
    carry()
    replies = [each for each in ops.messages if each.thread_ts == card.ts]
    assert [each.words for each in replies] == ["Ran exactly what was approved: Succeeded."]
    assert stored_card(card).reported is True


def test_a_rule_without_a_channel_writes_to_each_linked_person_in_their_language(slack):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest")
    unlinked = make_person("emil", "decide_approvalrequest")
    person = linked(slack, approver)
    linked(slack, other)
    Preferences.objects.create(person=other, language="de")
    rule_for(group_of(approver, other, unlinked))
    request = make_request(alice())
    carry()
    cards = {card.person.username: card for card in ChannelCard.objects.select_related("person")}
    assert sorted(cards) == ["bob", "dora"]
    notes = OutboxEvent.objects.filter(channel=Channel.CARD, last_error="no linked account")
    assert [row.target.rpartition(":")[2] for row in notes] == [str(unlinked.pk)]
    card = slack.workspace.message(cards["bob"].channel_id, cards["bob"].message_ts)
    person.click(card, "pausepoint.approve")
    carry()
    carry()
    shown = slack.workspace.message(cards["dora"].channel_id, cards["dora"].message_ts)
    assert (stored(request).status, "bob" in shown.words, sorted(shown.buttons)) == (
        "approved",
        True,
        ["pausepoint.open"],
    )


def test_a_reminder_speaks_in_the_thread_of_the_card(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    row = OutboxEvent.objects.get(channel=Channel.CARD)
    OutboxEvent.objects.create(
        event_id=request.pk, name="request.reminded", stream=row.stream, channel=Channel.CARD, target=row.target,
        lane=row.lane, payload=row.payload,
    )  # fmt: skip
    carry()
    replies = [each.words for each in ops.messages if each.thread_ts == card.ts]
    assert (replies, ChannelCard.objects.count()) == (["Reminder: this request is still waiting."], 1)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("token_revoked", "The bot token no longer works."),
        ("account_inactive", "The app was removed from the workspace."),
    ],
)
def test_a_connection_that_ended_is_said_in_words_and_its_cards_wait(slack, code, words):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice())
    slack.refuse(code)
    carry()
    connection = ChannelConnection.objects.get()
    assert (connection.problem, ops.messages) == (code, [])
    slack.refuse("")
    due_again()
    carry()
    assert (len(ops.messages), ChannelConnection.objects.get().problem) == (1, "")


def test_a_card_in_an_archived_channel_is_given_up(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    ops.archived = True
    decide(request, approver, Verdict.APPROVE)
    carry()
    assert stored_card(card).reported is True


def test_people_who_may_not_see_a_request_keep_its_card_out_of_their_channel(slack):
    approver = bob()
    stranger = make_person("emil")
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(group_of(approver, stranger), ops)
    make_request(alice())
    carry()
    assert ops.messages == []


def test_sweeps_post_decide_and_update_by_themselves(slack):
    """The duties are registered: the query of the sweep finds what is due."""
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    names = lambda: {duty.run.__qualname__ for duty in sweep.find_due()}  # noqa: E731
    assert "DeliveryLanes.deliver_due" not in names()
    make_request(alice())
    assert "spread_due_notices" in names()
    card = card_in(slack, ops)
    assert names() & {"DeliveryLanes.deliver_due", "carry_out_clicks"} == set()
    person.click(card, "pausepoint.approve")
    assert "carry_out_clicks" in names()
    carry()
    assert names() & {"carry_out_clicks"} == set()


def test_a_flood_for_one_channel_is_one_message_without_buttons_to_decide(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    owner = alice()
    for number in range(12):
        make_request(owner, title=f"Refund {number}?")
    carry()
    [digest] = ops.messages
    assert digest.words.splitlines() == ["12 requests are waiting", "Open Inbox"]
    assert (sorted(digest.buttons), ChannelCard.objects.count()) == (["pausepoint.open"], 0)
    make_request(owner, title="Another?")
    assert sorted(card_in(slack, ops, "Another?").buttons) == [
        "pausepoint.approve",
        "pausepoint.edit",
        "pausepoint.open",
        "pausepoint.reject",
    ]


def test_muted_cards_and_quiet_hours_are_kept(slack):
    approver = bob()
    linked(slack, approver)
    rule_for(approver)
    Preferences.objects.create(person=approver, muted=["card:approval"])
    make_request(alice())
    carry()
    assert (ChannelCard.objects.count(), OutboxEvent.objects.filter(channel=Channel.CARD).count()) == (0, 0)


def test_a_rule_may_be_for_requests_above_an_amount_only(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops, above_amount=100)
    owner = alice()
    ToolSettings.objects.create(tool_name="pay", key_fields=["/total"])
    for title, value in [("Under?", 100), ("Over?", 101), ("Owed?", -101)]:
        make_request(owner, title=title, tool_name="pay", input={"total": value, "amount": 1})
    make_request(owner, title="None?", tool_name="order", input={})
    carry()
    titles = {message.words.splitlines()[0] for message in ops.messages}
    assert titles == {"Over?", "Owed?", "None?"}


def test_a_rule_may_send_a_card_to_the_assignee_when_someone_assigns_a_request(slack):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    linked(slack, approver)
    linked(slack, other)
    rule_for(group_of(approver, other), to_assignee=True)
    request = make_request(alice())
    quiet = make_request(request.requested_by)
    carry()
    assert ChannelCard.objects.count() == 0
    actions.assign(request.pk, by=other, via=Door.DASHBOARD, to=approver)
    carry()
    assert [(card.person, card.request) for card in ChannelCard.objects.all()] == [(approver, request)]
    Preferences.objects.create(person=approver, muted=["card:assigned"])
    actions.assign(quiet.pk, by=other, via=Door.DASHBOARD, to=approver)
    carry()
    assert ChannelCard.objects.count() == 1


def test_calls_wait_as_long_as_slack_asks(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice())
    slack.will("chat.postMessage", limited(30))
    carry()
    row = OutboxEvent.objects.get(channel=Channel.CARD)
    assert row.next_attempt_at > timezone.now() + timedelta(seconds=20)
