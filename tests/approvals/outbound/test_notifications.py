"""New requests notify the people named by rules, if they may see them, in few messages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.db import IntegrityError

from approvals.models import OutboxEvent
from approvals.models.subscriptions import NotificationRule
from approvals.outbound import notifications
from approvals.outbound.links import confirm_link
from approvals.states import Channel, Kind, Priority, Verdict
from tests.support.desk.carrying import carry, group_of, later, sent, tell, with_address
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _public(settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


def test_a_person_gets_a_mail_with_title_agent_and_links_and_nothing_else():
    tell(reader := with_address(bob()))
    request = make_request(alice(), title="Refund 4711?", message="The customer is called Zoë.", input={"iban": "DE12"})
    carry()
    (message,) = mail.outbox
    assert (message.to, message.subject) == (["bob@example.org"], "[Pausepoint] Refund 4711? (support)")
    assert message.body == (
        "1 request is waiting:\n\nRefund 4711? (support)\n"
        f"https://desk.example.org/requests/{request.pk}/\n"
        f"Approve: {confirm_link(request, reader, Verdict.APPROVE)}\n"
        f"Reject: {confirm_link(request, reader, Verdict.REJECT)}\n"
        "\nReplies to this email are not read. Open a link to answer.\n"
    )  # fmt: skip
    rows = OutboxEvent.objects.order_by("pk")
    assert [(row.target, row.delivered_at is not None) for row in rows] == [
        ("notices", True),
        (f"mail:{User.objects.get(username='bob').pk}", True),
    ]


def test_without_rules_nothing_is_written():
    make_request(alice())
    tell(with_address(bob()), active=False)
    make_request(alice_again())
    carry()
    assert (OutboxEvent.objects.count(), mail.outbox) == (0, [])


def alice_again() -> User:
    return User.objects.get(username="alice")


def test_only_those_who_may_see_the_request_are_notified():
    people = [with_address(person) for person in (bob(), carol(), mallory(), alice())]
    tell(group_of(*people))
    make_request(people[-1])
    carry()
    assert sorted(to for (to,), _ in sent()) == ["alice@example.org", "bob@example.org", "carol@example.org"]


def test_a_user_who_loses_the_right_or_is_deactivated_meanwhile_is_not_notified():
    people = [with_address(person) for person in (bob(), carol())]
    tell(group_of(*people))
    make_request(alice())
    notifications.spread_due_notices()
    people[0].user_permissions.clear()
    people[1].is_active = False
    people[1].save()
    carry()
    rows = OutboxEvent.objects.filter(channel=Channel.MAIL)
    assert (mail.outbox, {row.last_error for row in rows}) == ([], {"no longer needed"})


def test_an_assignee_is_notified_of_their_own_requests_only():
    helper = with_address(mallory())
    tell(helper)
    owner = alice()
    make_request(owner, Kind.QUESTION, title="Yours", assigned_to=helper)
    make_request(owner, title="Not yours")
    carry()
    assert sent() == [(["mallory@example.org"], "[Pausepoint] Yours (support)")]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"min_priority": "low"}, ["low", "normal", "high", "critical"]),
        ({}, ["normal", "high", "critical"]),
        ({"min_priority": "critical"}, ["critical"]),
        ({"min_priority": "high", "tool_name": "refund"}, []),
        ({"min_priority": "high", "tool_name": "pay"}, ["high", "critical"]),
    ],
)
def test_a_rule_filters_by_priority_and_tool(rule, told):
    tell(with_address(bob()), **rule)
    owner = alice()
    for priority in Priority:
        make_request(owner, title=priority.value, priority=priority, tool_name="pay")
    notifications.spread_due_notices()
    rows = OutboxEvent.objects.filter(channel=Channel.MAIL).order_by("pk")
    assert [row.payload["title"] for row in rows] == told


def test_two_rules_for_one_person_send_one_mail():
    person = with_address(bob())
    tell(person)
    tell(group_of(person), tool_name="")
    make_request(alice())
    carry()
    assert len(mail.outbox) == 1


def test_fifty_requests_within_a_minute_become_two_mails():
    tell(with_address(bob()))
    owner = alice()
    make_request(owner, title="The first")
    carry()
    for number in range(50):
        make_request(owner, title=f"Request {number}")
    carry()
    assert sent() == [(["bob@example.org"], "[Pausepoint] The first (support)")]
    later(timedelta(seconds=200))
    carry()
    assert len(mail.outbox) == 1
    later(timedelta(seconds=101))
    carry()
    carry()
    assert [subject for _, subject in sent()[1:]] == ["[Pausepoint] 50 requests are waiting"]
    body = mail.outbox[1].body
    assert body.count("\nApprove: https://desk.example.org/requests/") == 20
    assert "… and 30 more: https://desk.example.org/" in body
    assert not OutboxEvent.objects.filter(delivered_at=None).exists()


def test_no_message_about_requests_that_were_decided_meanwhile():
    tell(with_address(bob()))
    decider = User.objects.get(username="bob")
    first, second = make_request(alice(), title="First"), make_request(alice_again(), title="Second")
    notifications.spread_due_notices()
    decide(first, decider, Verdict.APPROVE)
    carry()
    assert sent() == [(["bob@example.org"], "[Pausepoint] Second (support)")]
    decide(second, decider, Verdict.APPROVE)
    third = make_request(alice_again())
    notifications.spread_due_notices()
    decide(third, decider, Verdict.APPROVE)
    later()
    carry()
    assert len(mail.outbox) == 1


def test_a_message_that_was_not_needed_does_not_delay_the_next():
    tell(with_address(bob()))
    first = make_request(alice())
    notifications.spread_due_notices()
    decide(first, User.objects.get(username="bob"), Verdict.REJECT)
    carry()
    make_request(alice_again(), title="Second")
    carry()
    assert [subject for _, subject in sent()] == ["[Pausepoint] Second (support)"]


@pytest.mark.parametrize(
    "title", ["A\r\nBcc: everybody@example.org", "A\n\nB", "A\u2028B", "A\x1b[31mB", "\u202eA", "=?utf-8?q?A?="]
)
def test_a_title_cannot_change_the_mail_around_it(title):
    tell(with_address(bob()))
    make_request(alice(), title=title)
    carry()
    (message,) = mail.outbox
    parsed = message.message()
    assert (parsed["To"], parsed["Bcc"], len(message.subject.splitlines())) == ("bob@example.org", None, 1)
    assert message.subject.isprintable()


def test_two_processes_send_one_message():
    tell(with_address(bob()))
    make_request(alice())
    notifications.spread_due_notices()
    jobs = [notifications.due_jobs([])[0] for _ in range(2)]
    assert [job.claim() for job in jobs] == [True, False]
    assert notifications.due_jobs([]) == []


def test_questions_are_notified_too():
    tell(with_address(bob()))
    make_request(alice(), Kind.QUESTION, title="Which one?", workflow=make_workflow(alice_again(), agent=""))
    carry()
    assert [subject for _, subject in sent()] == ["[Pausepoint] Which one?"]


@pytest.mark.parametrize("both", [True, False])
def test_a_rule_has_a_person_or_a_group(both):
    with pytest.raises(IntegrityError):
        NotificationRule.objects.create(
            person=bob() if both else None, group=Group.objects.create(name="g") if both else None
        )
