"""Each mail says that no person wrote it, so that no out-of-office reply comes back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from approvals.access import rate_limits
from approvals.access.standing import standing_of
from approvals.administration.preferences import views as preferences
from approvals.administration.preferences.own_address import confirmation
from approvals.outbound import mailing
from approvals.outbound.messages import mail as mail_about
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[3]
HEADERS = {"Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All"}


@pytest.fixture(autouse=True)
def _mail_server(settings):
    settings.HITL_MAIL = True


def with_address(person: User) -> User:
    person.email = f"{person.username}@example.org"
    person.set_password("a quite different text")
    person.save()
    return person


def said(message: mail.EmailMessage) -> dict[str, str | None]:
    """The headers as a mail server gets them."""
    wire = message.message()
    return {name: wire[name] for name in HEADERS}


def sent() -> list[dict[str, str | None]]:
    """The headers of all mails, once the thread that sends them has done so."""
    mailing._thread.submit(bool).result()
    return [said(message) for message in mail.outbox]


def test_mails_about_requests_and_addresses_say_so():
    person, request = with_address(bob()), make_request(alice())
    messages = [mail_about(person, standing_of(person), [request]), confirmation(person, "new@example.org")]
    assert [said(message) for message in messages] == [HEADERS] * 2


def test_mails_about_accounts_say_so(monkeypatch):
    # Other tests may have used up the test mails of an account with the same id.
    monkeypatch.setattr(preferences, "_tests", rate_limits.Limit())
    person = with_address(bob())
    root = browser(User.objects.create_superuser("root"))
    root.post("/settings/people/", {"username": "eve", "email": "eve@example.org", "roles": ["approver"]})
    browser(person).post("/settings/notifications/test/")
    Client().post("/password/reset/", {"email": person.email})
    assert sent() == [HEADERS] * 3


def test_one_function_makes_all_mails():
    modules = [path for room in ("approvals", "chats", "hitlsite") for path in (ROOT / room).rglob("*.py")]
    made = re.compile(r"EmailMessage\(|EmailMultiAlternatives\(|\bmail_admins\(|import send_mail")
    assert [path.name for path in modules if made.search(path.read_text())] == ["mailing.py"]
