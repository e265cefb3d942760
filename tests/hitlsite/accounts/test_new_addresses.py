"""The first log-in from an address that an account was not used from before: on record, in the log and by email."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.models import AuditEntry
from approvals.models.people import KnownNetwork
from approvals.outbound import mailing
from tests.approvals.administration.people.test_second_administrator import mails
from tests.support.people import PASSWORD, make_person

pytestmark = pytest.mark.django_db(transaction=True)

HOME, CAFE = "192.0.2.1", "198.51.100.7"


@pytest.fixture(autouse=True)
def erin(settings) -> User:
    settings.HITL_MAIL = True
    person = make_person("erin")
    person.email = "erin@example.org"
    # Before addresses were remembered.
    person.last_login = timezone.now()
    person.save()
    return person


def log_in(address: str, **head: str) -> None:
    client = Client(REMOTE_ADDR=address)
    answer = client.post("/login/", {"username": "erin", "password": PASSWORD}, headers=head)
    assert answer.status_code == 302


def new() -> list[tuple[str, dict]]:
    entries = AuditEntry.objects.filter(event="login.new_address").order_by("pk")
    return [(entry.actor_name, entry.data) for entry in entries]


def test_the_first_one_that_is_remembered_of_an_account_in_use_and_known_ones_are_nothing_new(mailoutbox):
    for _time in range(2):
        log_in(HOME)
    mailing._thread.submit(bool).result()
    assert (new(), mailoutbox) == ([], [])


def test_the_first_log_in_of_an_account_is_mailed_too(erin, mailoutbox):
    User.objects.filter(pk=erin.pk).update(last_login=None)
    log_in(CAFE)
    assert (new(), len(mails())) == ([], 1)


def test_the_first_log_in_after_all_addresses_were_forgotten_is_on_record_and_mailed(settings, erin, mailoutbox):
    settings.SIGN_IN_DAYS = 30
    log_in(HOME)
    long_ago = timezone.now() - timedelta(days=31)
    KnownNetwork.objects.update(last_seen_at=long_ago)
    User.objects.filter(pk=erin.pk).update(last_login=long_ago)
    log_in(HOME)
    assert (new(), len(mails())) == ([("erin", {"address": HOME})], 1)


def test_another_address_is_on_record_in_the_log_and_mailed_once(caplog, mailoutbox):
    log_in(HOME)
    with caplog.at_level(logging.WARNING, "hitlsite.accounts.adapter"):
        log_in(CAFE)
        log_in(CAFE)
        log_in(HOME)
    assert new() == [("erin", {"address": CAFE})]
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [f"Log-in as 'erin' from a new address, {CAFE}"]
    words = f"Someone logged in to your account from an address that it was not used from before: {CAFE}. If it was not"
    ((to, said),) = mails()
    assert (to, said.startswith(words)) == ("erin@example.org", True)


def test_addresses_of_one_ipv6_network_are_the_same():
    log_in("2001:db8::1")
    log_in("2001:db8::ffff")
    log_in("2001:db8:0:1::1")
    assert new() == [("erin", {"address": "2001:db8:0:1::1"})]


def test_the_address_is_the_one_that_the_trusted_proxies_report(settings):
    settings.TRUSTED_PROXIES = 1
    log_in(HOME, X_Forwarded_For=HOME)
    log_in(CAFE, X_Forwarded_For=f"{CAFE}, {HOME}")
    assert new() == []


def test_addresses_are_forgotten_after_some_days_and_with_the_person(settings, erin):
    settings.SIGN_IN_DAYS = 30
    log_in(HOME)
    KnownNetwork.objects.update(last_seen_at=timezone.now() - timedelta(days=31))
    log_in(CAFE)
    assert [row.network for row in KnownNetwork.objects.all()] == [CAFE]
    log_in(HOME)
    erin.delete()
    assert (KnownNetwork.objects.count(), new()) == (0, [("erin", {"address": HOME})])


def test_a_wrong_password_makes_no_address_known():
    log_in(HOME)
    Client(REMOTE_ADDR=CAFE).post("/login/", {"username": "erin", "password": "wrong"})
    assert [row.network for row in KnownNetwork.objects.all()] == [HOME]
