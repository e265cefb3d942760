"""What is sent to a relay: no more than it may carry, to people who want it, until the request has ended."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.models import (
    ChannelAccount,
    ChannelConnection,
    OutboxEvent,
    Preferences,
    Relay,
    RelayMessage,
    ToolSettings,
)
from approvals.models.channels import Shows
from approvals.outbound import outbox
from approvals.states import Channel, Door, Verdict
from tests.support.desk.relay import carry, connected, linked, rule_for
from tests.support.desk.requests import FUTURE, cancel, decide, make_request
from tests.support.people import alice, bob, make_person
from tests.support.receiver import Got, answer

pytestmark = pytest.mark.django_db(transaction=True)
ELSEWHERE = "Its content is not sent to this chat."


def again() -> None:
    """Let time pass, so that failed calls are due."""
    OutboxEvent.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    RelayMessage.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    carry()


@pytest.mark.parametrize(
    ("changes", "titles", "offers"),
    [
        ({"shows": Shows.INPUT}, ["Pay 100", "Pay 9000", "Request"], [True, True, False]),
        ({"shows": Shows.INPUT, "up_to": 500}, ["Pay 100", "Request", "Request"], [True, False, False]),
        ({"shows": Shows.TITLE}, ["Pay 100", "Pay 9000", "Request"], [False, False, False]),
    ],
)
def test_a_relay_carries_what_its_settings_allow_and_never_critical_requests(settings, changes, titles, offers):
    approver = bob()
    owner = alice()
    ToolSettings.objects.create(tool_name="pay", key_fields=["/amount"])
    with connected(settings, **changes) as chat:
        linked(approver)
        rule_for(approver)
        make_request(owner, title="Wire everything", tool_name="pay", input={"amount": 1}, priority="critical")
        for amount in (100, 9000):
            make_request(owner, title=f"Pay {amount}", tool_name="pay", input={"amount": amount})
        carry()
        messages = sorted(chat.shown.values(), key=lambda each: (each["title"], bool(each["answers"])))
        assert [each["title"] for each in messages] == titles
        assert [bool(each["answers"]) for each in messages] == offers
        assert [each["token"] is not None for each in messages] == offers
        assert [ELSEWHERE in each["text"] for each in messages] == [title == "Request" for title in titles]
        assert "everything" not in str(chat.versions)
        # Without the whole input, a title or key fields can be read and not answered.
        assert all("Open it in Pausepoint to answer." in each["text"] for each in messages if not each["answers"])


def test_a_hidden_value_never_leaves_and_takes_the_answers_away(settings):
    approver = bob()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        secret = "ghp_" + "a1B2" * 9
        make_request(alice(), input={"amount": 1, "token": secret})
        carry()
        assert (chat.message["answers"], secret in str(chat.message)) == ([], False)


def test_people_choose_relays_beside_email_and_push(settings):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    with connected(settings) as chat:
        for person in (approver, other):
            linked(person)
            rule_for(person)
        Preferences.objects.create(person=approver, muted=[f"{Channel.RELAY}:approval"])
        make_request(alice())
        carry()
        assert [each["account"] for each in chat.shown.values()] == ["id-dora"]


def test_a_rule_is_for_priorities_amounts_and_people_with_a_link(settings):
    approver = bob()
    with connected(settings) as chat:
        rule_for(approver, min_priority="high")
        owner = alice()
        make_request(owner, title="Before the link", priority="high")
        carry()
        linked(approver)
        make_request(owner, title="Normal")
        make_request(owner, title="High", priority="high")
        carry()
        assert [each["title"] for each in chat.shown.values()] == ["High"]


def test_an_assignee_hears_of_it(settings):
    approver = bob()
    owner = alice()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver, to_assignee=True)
        request = make_request(owner)
        carry()
        assert chat.shown == {}
        other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
        actions.assign(request.pk, by=other, via=Door.DASHBOARD, to=approver)
        carry()
        assert chat.message["title"] == "May I?"


def test_a_mention_reaches_people_through_their_relay(settings):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    with connected(settings) as chat:
        linked(other)
        request = make_request(alice())
        actions.comment(request.pk, by=approver, via=Door.DASHBOARD, text="Look, @dora")
        carry()
        [notice] = chat.notices
        assert (notice["account"], notice["text"]) == ("id-dora", "bob mentioned you: May I? (support)")
        assert notice["open"] == f"https://desk.example.org/requests/{request.pk}/"


def test_many_new_requests_become_one_notice(settings):
    approver = bob()
    owner = alice()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        for number in range(11):
            make_request(owner, title=f"Number {number}")
        carry()
        assert (chat.shown, [each["text"] for each in chat.notices]) == ({}, ["11 new requests are waiting"])


def test_a_relay_that_is_down_gets_the_present_state_later(settings):
    approver = bob()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        chat.status = 503
        request = make_request(alice())
        carry()
        assert (chat.shown, ChannelConnection.objects.get().problem) == ({}, "503")
        chat.status = 204
        again()
        assert (len(chat.shown), ChannelConnection.objects.get().problem) == (1, "")
        chat.status = 503
        cancel(request, request.requested_by)
        carry()
        chat.status = 204
        again()
        assert (chat.shown, len(chat.ended)) == ({}, 1)
        assert outbox.undelivered_events(Channel.RELAY).count() == 0


def test_a_message_that_a_relay_does_not_know_is_given_up(settings):
    approver = bob()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        request = make_request(alice())
        carry()
        chat.status = 410
        decide(request, approver, Verdict.APPROVE)
        carry()
        posts = len(chat.got)
        again()
        assert (len(chat.got), RelayMessage.objects.get().ended) == (posts, True)


def test_an_expired_request_ends_its_message_and_lost_rights_hide_it(settings):
    approver = bob()
    owner = alice()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        make_request(owner, deadline_at=FUTURE)
        carry()
        assert "Deadline: " in chat.message["text"]
        approver.user_permissions.clear()
        RelayMessage.objects.update(synced_at=None)
        carry()
        assert (chat.message["title"], chat.message["answers"]) == ("Request", [])
        assert "amount" not in chat.message["text"]


def test_a_relay_in_a_private_network_is_not_called(settings):
    approver = bob()
    with connected(settings) as chat:
        settings.HITL_WEBHOOK_ALLOW_PRIVATE = False
        Relay.objects.update(address=chat.url().replace("http:", "https:"))
        linked(approver)
        rule_for(approver)
        make_request(alice())
        carry()
        assert chat.got == []
        assert "private" in ChannelConnection.objects.get().problem


def test_links_messages_and_rules_end_with_the_relay(settings):
    approver = bob()
    with connected(settings):
        linked(approver)
        rule = rule_for(approver)
        make_request(alice())
        carry()
        ChannelConnection.objects.get().delete()
        rule.refresh_from_db()
        make_request(rule.person)
        carry()
        assert (Relay.objects.count(), ChannelAccount.objects.count(), RelayMessage.objects.count()) == (0, 0, 0)


def test_a_slow_relay_holds_up_no_decision(settings):
    approver = bob()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        request = make_request(alice())
        carry()
        message = chat.message
        outcomes: list[int] = []

        def decided_meanwhile(got: Got):
            outcomes.append(chat.answer(message, "approve").status_code)
            return answer(204)

        chat.behave = decided_meanwhile
        cancel(request, request.requested_by)
        carry()
        assert outcomes == [409]
