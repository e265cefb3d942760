"""Sending messages: a mail server that is down, and a channel in Slack."""

from __future__ import annotations

import smtplib
from datetime import timedelta

import django
import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from approvals.models import OutboxEvent
from approvals.models.subscriptions import LastNotice
from approvals.outbound import notifications
from approvals.states import Channel, Route
from tests.support.desk.carrying import carry, group_of, later, sent, tell, with_address
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob, carol, mallory
from tests.support.receiver import Receiver, answer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _public(settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


class Broken(EmailBackend):
    """A mail server that is down for the first attempt."""

    failures: list[Exception]

    def send_messages(self, messages):
        if self.failures:
            raise self.failures.pop()
        return super().send_messages(messages)


@pytest.mark.parametrize(
    "error",
    [ConnectionRefusedError("refused"), smtplib.SMTPRecipientsRefused({}), smtplib.SMTPAuthenticationError(535, b"no")],
)
def test_a_mail_server_that_is_down_is_tried_again(settings, error):
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": f"{__name__}.Broken"}}
    else:
        settings.EMAIL_BACKEND = f"{__name__}.Broken"
    Broken.failures = [error]
    tell(with_address(bob()))
    make_request(alice())
    carry()
    row = OutboxEvent.objects.get(channel=Channel.MAIL)
    assert (mail.outbox, row.attempts, row.delivered_at, row.last_error) == (
        [],
        1,
        None,
        f"{type(error).__name__}: {error}",
    )
    assert LastNotice.objects.get().at == notifications.NEVER
    later()
    carry()
    assert [to for to, _ in sent()] == [["bob@example.org"]]


def test_a_missing_mail_server_is_reported(settings):
    settings.HITL_MAIL = False
    tell(with_address(bob()))
    make_request(alice())
    carry()
    row = OutboxEvent.objects.get(channel=Channel.MAIL)
    assert (row.delivered_at, row.last_error) == (None, "no email can be sent because EMAIL_HOST is not set")


def test_a_slack_message_has_links_and_escapes_titles():
    with Receiver() as there:
        tell(with_address(bob()), route=Route.SLACK, slack_url=there.url("/services/T0/B0/x"))
        request = make_request(alice(), title="<!channel> & <https://evil.example|click> @all")
        carry()
        (got,) = there.got
    link = f"https://desk.example.org/requests/{request.pk}/"
    words = "&lt;!channel&gt; &amp; &lt;https:\u200b//evil.example¦click&gt; @\u200ball (support)"
    assert (got.path, got.headers["content-type"]) == ("/services/T0/B0/x", "application/json")
    assert got.body.decode() == f'{{"text": "1 request is waiting:\\n• <{link}|{words}>"}}'


def test_the_channel_of_a_group_is_notified_only_of_what_everybody_in_it_may_see():
    owner = alice()
    with Receiver() as there:
        tell(group_of(bob(), owner), route=Route.SLACK, slack_url=there.url())
        tell(group_with(mallory()), route=Route.SLACK, slack_url=there.url("/leak"))
        make_request(owner, title="Alice's")
        make_request(carol(), title="Carol's")
        carry()
        assert [got.path for got in there.got] == ["/hook"]
        assert ("Alice's" in there.got[0].body.decode(), "Carol's" in there.got[0].body.decode()) == (True, False)


def group_with(person: User) -> Group:
    group = Group.objects.create(name="others")
    group.user_set.set([person, User.objects.get(username="bob")])
    return group


def test_a_message_that_slack_refuses_is_tried_again():
    with Receiver(lambda got: answer(404)) as there:
        tell(bob(), route=Route.SLACK, slack_url=there.url())
        make_request(alice())
        carry()
        row = OutboxEvent.objects.get(channel=Channel.SLACK)
        assert (row.last_error, row.delivered_at) == ("answered 404", None)
        there.behave = lambda got: answer(200)
        later()
        carry()
        row.refresh_from_db()
        assert (len(there.got), row.delivered_at is not None) == (2, True)


def test_a_notification_that_fails_for_days_is_given_up():
    tell(with_address(bob()))
    make_request(alice())
    notifications.spread_due_notices()
    OutboxEvent.objects.filter(channel=Channel.MAIL).update(created_at=timezone.now() - timedelta(days=4))
    row = OutboxEvent.objects.get(channel=Channel.MAIL)
    notifications._put_off(LastNotice.objects.create(recipient=row.target, at=notifications.NEVER), [row], "down")
    row.refresh_from_db()
    assert row.dead_at is not None
