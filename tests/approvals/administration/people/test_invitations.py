"""People are invited by mail, or with a link that is shown once, and choose their own password."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from approvals.models import AuditEntry, Invitation
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import bob

#: With commits, because sending a mail closes the connection.
pytestmark = pytest.mark.django_db(transaction=True)

NEW = {"password1": "a quite different text", "password2": "a quite different text"}
REFUSED = "This link is no longer valid. A link works once, for a limited time, and stops working when you log in."


@pytest.fixture(autouse=True)
def mail_server(settings):
    settings.HITL_MAIL = True


@pytest.fixture
def client():
    return browser(User.objects.create_superuser("root"))


def add_eve(client: Client, email: str = "eve@example.org"):
    return client.post("/settings/people/", {"username": "eve", "email": email, "roles": ["approver"]}, follow=True)


def eve() -> User:
    return User.objects.get(username="eve")


def press(client: Client, do: str):
    return client.post(f"/settings/people/{eve().pk}/invite/", {"do": do}, follow=True)


def mailed_links() -> list[str]:
    found = [re.findall(r"^http://\S+$", str(one.body), re.MULTILINE) for one in mail.outbox]
    return [link.removeprefix("http://127.0.0.1:8000") for (link,) in found]


def refusals(link: str) -> list[str]:
    return [one.words for one in parse(Client().get(link, follow=True).text).find("p", class_="refusal")]


def events() -> list[tuple[str, object]]:
    found = AuditEntry.objects.filter(event__contains="invit").order_by("pk")
    return [(entry.event, entry.data.get("change")) for entry in found]


def test_an_invited_person_chooses_a_password_with_the_mailed_link_once(client):
    assert "An invitation is on its way to eve@example.org." in add_eve(client).text
    (link,) = mailed_links()
    assert mail.outbox[0].to == ["eve@example.org"]
    assert "Invited" in parse(client.get("/settings/people/").text).words
    stranger = Client()
    page = stranger.get(link, follow=True)
    assert parse(page.text).find("h1")[0].words == "Welcome to Pausepoint"
    assert stranger.post(page.request["PATH_INFO"], NEW).status_code == 302
    sent = {"username": "eve", "password": NEW["password1"]}
    assert Client().post("/login/", sent).headers["Location"] == "/"
    assert (refusals(link), Invitation.objects.count()) == ([REFUSED], 0)
    assert events() == [("person.invited", "invited"), ("invitation.accepted", None)]
    assert "Invited" not in parse(client.get("/settings/people/").text).words
    assert press(client, "invite").status_code == 409


def test_the_link_is_shown_once_if_no_mail_can_be_sent(client, settings):
    settings.HITL_MAIL = False
    page = parse(add_eve(client).text)
    link = page.find("pre")[0].words.removeprefix("http://127.0.0.1:8000")
    assert (mail.outbox, refusals(link)) == ([], [])
    shown = client.get(f"/settings/people/{eve().pk}/").text
    assert link not in shown


def test_a_mail_server_that_refuses_is_told_and_the_link_is_shown(client, settings):
    settings.DEFAULT_FROM_EMAIL = "pausepoint@localhost\nBcc: mallory@example.org"
    page = parse(add_eve(client).text)
    assert page.find("p", class_="refusal")[0].words.startswith("The mail server did not accept the invitation.")
    link = page.find("pre")[0].words.removeprefix("http://127.0.0.1:8000")
    assert refusals(link) == []


def test_a_new_invitation_replaces_the_previous_one_and_a_withdrawn_one_is_worthless(client):
    add_eve(client)
    press(client, "invite")
    first, second = mailed_links()
    assert (refusals(first), refusals(second)) == ([REFUSED], [])
    page = press(client, "withdraw")
    assert "This person has no password yet, and no pending invitation." in parse(page.text).words
    assert (refusals(second), press(client, "withdraw").status_code) == ([REFUSED], 409)
    changes = ["invited", "invited again", "withdrawn"]
    assert events() == [("person.invited", change) for change in changes]


def test_expired_unknown_and_forged_links_get_the_same_answer(client):
    add_eve(client)
    (link,) = mailed_links()
    forged = f"{link[:-2]}zz/"
    unknown = re.sub(r"/reset/[^/]+/", "/reset/zzzz/", link)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert [refusals(one) for one in (link, forged, unknown)] == [[REFUSED]] * 3
    assert "Invitation expired" in parse(client.get("/settings/people/").text).words


def test_a_deactivated_person_cannot_accept(client):
    add_eve(client)
    (link,) = mailed_links()
    client.post(f"/settings/people/{eve().pk}/active/", {"active": "no"})
    assert refusals(link) == [REFUSED]
    assert press(client, "invite").status_code == 409


def test_only_administrators_invite(client):
    add_eve(client)
    assert browser(bob()).post(f"/settings/people/{eve().pk}/invite/").status_code == 404
