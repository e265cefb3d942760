"""The profile: people choose a display name, and change their own email address with a link to the new one."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail

from approvals.administration.preferences import own_address, profile
from approvals.models import AuditEntry
from approvals.outbound import mailing
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import PASSWORD, alice, bob, mallory

pytestmark = pytest.mark.django_db

ASK = {"email": "new@example.org", "password": PASSWORD}


@pytest.fixture(autouse=True)
def _mail_server(settings):
    settings.HITL_MAIL = True
    profile._tries.__init__()


def with_address(person: User, email: str = "old@example.org") -> User:
    User.objects.filter(pk=person.pk).update(email=email)
    return User.objects.get(pk=person.pk)


def errors(page: str) -> list[str]:
    return [one.words for one in parse(page).find("p", class_="field-error")]


def sent() -> list[tuple[str, str]]:
    """Receiver and first line of the mails sent so far, once the thread of mails has sent them."""
    mailing._thread.submit(lambda: None).result()
    return [(message.to[0], message.body.splitlines()[0]) for message in mail.outbox]


def link_to(address: str) -> str:
    (message,) = [message for message in mail.outbox if message.to == [address] and "settings/address/" in message.body]
    return re.search(r"/settings/address/\S+", message.body)[0]


def ask(person: User, django_capture_on_commit_callbacks) -> str:
    with django_capture_on_commit_callbacks(execute=True):
        assert browser(person).post("/settings/address/", ASK).status_code == 302
    sent()
    return link_to("new@example.org")


def test_a_display_name_is_stored_and_shown_and_a_refused_one_stays_in_its_field():
    bob()
    client = browser(alice())
    assert client.post("/settings/name/", {"display_name": " Alice   Jones "}).status_code == 302
    page = parse(client.get("/settings/").text)
    assert [one.words for one in page.find("p", class_="person-line")] == ["Alice Jones (@alice)"]
    assert [one.attributes["data-initials"] for one in page.find("span", class_="avatar")] == ["AJ", "AJ"]
    refused = client.post("/settings/name/", {"display_name": "Bob"})
    assert (refused.status_code, errors(refused.text)) == (
        422, ["This looks like someone else's name. Choose another one."],
    )  # fmt: skip
    assert User.objects.get(username="alice").first_name == "Alice Jones"


def test_an_address_changes_when_its_link_is_confirmed_and_the_old_address_is_told(django_capture_on_commit_callbacks):
    person = with_address(alice())
    link = ask(person, django_capture_on_commit_callbacks)
    assert sent() == [
        ("new@example.org", "The Pausepoint account alice is about to use this email address."),
        ("old@example.org", "You asked to change the email address of your account to new@example.org. To confirm it, "
         "open the link in the email sent there."),
    ]  # fmt: skip
    client = browser(person)
    assert client.get(link).status_code == 200
    assert User.objects.get(pk=person.pk).email == "old@example.org"
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(link).status_code == 302
    assert User.objects.get(pk=person.pk).email == "new@example.org"
    assert sent()[2:] == [("old@example.org", "You changed the email address of your account to new@example.org.")]
    (entry,) = AuditEntry.objects.filter(event="person.changed")
    assert (entry.actor_name, entry.data["before"], entry.data["after"]) == (
        "alice", {"email": "old@example.org"}, {"email": "new@example.org"},
    )  # fmt: skip
    assert [client.get(link).status_code, client.post(link).status_code] == [409, 409]


def test_a_link_is_worthless_for_others_after_a_new_password_and_changed(django_capture_on_commit_callbacks):
    person = with_address(alice())
    link = ask(person, django_capture_on_commit_callbacks)
    other = browser(mallory())
    assert [other.get(link).status_code, other.post(link).status_code] == [409, 409]
    assert browser(person).post(link[:-2] + "x/").status_code == 409
    person.set_password("another password entirely")
    person.save()
    assert browser(person).post(link).status_code == 409
    assert User.objects.get(pk=person.pk).email == "old@example.org"


def test_a_link_expires(django_capture_on_commit_callbacks, monkeypatch):
    person = with_address(alice())
    link = ask(person, django_capture_on_commit_callbacks)
    monkeypatch.setattr(own_address, "VALID_FOR", own_address.VALID_FOR * -1)
    assert browser(person).post(link).status_code == 409


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"password": "wrong"}, ["Wrong current password."]),
        ({"email": "nonsense"}, ["Enter a valid email address."]),
        ({"email": "a@b.org\nBcc: c@d.org"}, ["Enter a valid email address."]),
        ({"email": "old@example.org"}, ["This is already your address."]),
        ({"email": "", "password": ""}, ["This field is required.", "This field is required."]),
    ],
)
def test_what_was_typed_wrong_is_said_at_its_field_and_no_mail_is_sent(typed, told):
    refused = browser(with_address(alice())).post("/settings/address/", ASK | typed)
    assert (refused.status_code, errors(refused.text), sent()) == (422, told, [])


def test_passwords_are_not_tried_without_end():
    client = browser(with_address(alice()))
    codes = [client.post("/settings/address/", ASK | {"password": "wrong"}).status_code for _ in range(6)]
    assert codes == [422] * 5 + [429]


def test_without_a_password_or_a_mail_server_an_administrator_changes_the_address(settings):
    person = alice()
    settings.HITL_MAIL = False
    assert browser(person).post("/settings/address/", ASK).status_code == 403
    settings.HITL_MAIL = True
    person.set_unusable_password()
    person.save()
    client = browser(person)
    assert client.post("/settings/address/", ASK).status_code == 403
    assert "An administrator can change it." in client.get("/settings/").text
