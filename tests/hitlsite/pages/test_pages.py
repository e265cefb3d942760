"""The readers of each page; all others are sent to the log-in or get a 404."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client

from chats.models import TurnCheckpoint
from chats.queries import open_requests
from tests.support import people
from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat
from tests.support.markup import parse, without_tokens
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db

FAST_HASHING = ["django.contrib.auth.hashers.MD5PasswordHasher"]
PEOPLE = {"Alice": alice, "Bob": bob, "Carol": carol, "Mallory": mallory}
HUGE = 10**30


@pytest.fixture(autouse=True)
def _passwords_are_hashed_quickly(settings):
    settings.PASSWORD_HASHERS = FAST_HASHING


@pytest.fixture
def everybody():
    """Return a browser for each person; Alice has a chat that waits for an approval."""
    users = {name: make() for name, make in PEOPLE.items()}
    clients = {name: Client() for name in [*users, "anonymous"]}
    for name, user in users.items():
        clients[name].force_login(user)
    clients["Alice"].chat = make_chat(users["Alice"])
    return clients


@pytest.fixture
def addresses(everybody):
    """Return the pages about Alice's waiting refund, by name."""
    chat = everybody["Alice"].chat
    turn = paused(chat)
    (request,) = open_requests(turn)
    checkpoint = TurnCheckpoint.objects.get()
    return {
        "workflow": f"/workflows/{request.workflow_id}/",
        "request": f"/requests/{request.pk}/",
        "chat": f"/chats/{chat.pk}/",
        "checkpoints": f"/chats/{chat.pk}/checkpoints/",
        "checkpoint": f"/chats/checkpoints/{checkpoint.pk}/",
        "timeline": f"/chats/{chat.pk}/timeline/",
        "compare": f"/chats/{chat.pk}/compare/",
    }


ABSENT = {
    "workflow": "/workflows/999/",
    "request": f"/requests/{uuid4()}/",
    "chat": "/chats/999/",
    "checkpoints": "/chats/999/checkpoints/",
    "checkpoint": "/chats/checkpoints/999/",
    "timeline": "/chats/999/timeline/",
    "compare": "/chats/999/compare/",
}


@pytest.mark.parametrize("page", ABSENT)
def test_a_page_of_alice_is_visible_to_alice_deciders_and_auditors(everybody, addresses, page):
    seen = {name: client.get(addresses[page]).status_code for name, client in everybody.items()}
    assert seen == {"Alice": 200, "Bob": 200, "Carol": 200, "Mallory": 404, "anonymous": 302}


@pytest.mark.parametrize("page", ABSENT)
def test_a_forbidden_page_looks_exactly_like_an_absent_one(everybody, addresses, page):
    not_hers = everybody["Mallory"].get(addresses[page])
    absent = everybody["Mallory"].get(ABSENT[page])
    assert (not_hers.status_code, absent.status_code) == (404, 404)
    assert without_tokens(not_hers.text) == without_tokens(absent.text)


@pytest.mark.parametrize(
    "address",
    ["{request}decide/", "{request}cancel/", "{chat}messages/", "{chat}stop/", "{checkpoint}branch/"],
    ids=lambda a: a.strip("/"),
)
def test_acting_on_a_forbidden_page_looks_exactly_like_acting_on_an_absent_one(everybody, addresses, address):
    data = {"verdict": "approve", "text": "Hello?"}
    for headers in ({}, {"HX-Request": "true"}):
        not_hers = everybody["Mallory"].post(address.format(**addresses), data, headers=headers)
        absent = everybody["Mallory"].post(address.format(**ABSENT), data, headers=headers)
        assert (not_hers.status_code, absent.status_code) == (404, 404)
        assert without_tokens(not_hers.text) == without_tokens(absent.text)
    assert [*everybody["Alice"].chat.turns.values_list("state", flat=True)] == ["suspended"]


@pytest.mark.parametrize("page", ["/", "/workflows/", "/chats/"])
def test_the_lists_are_open_to_everybody_who_is_logged_in(everybody, page):
    seen = {name: client.get(page).status_code for name, client in everybody.items()}
    assert seen == {"Alice": 200, "Bob": 200, "Carol": 200, "Mallory": 200, "anonymous": 302}


def test_the_lists_show_each_person_only_what_they_may_see(everybody, addresses):
    for page, shown in (("/", addresses["request"]), ("/chats/", addresses["chat"])):
        seen = {name: f'href="{shown}"' in everybody[name].get(page).text for name in PEOPLE}
        assert seen == {"Alice": True, "Bob": True, "Carol": True, "Mallory": False}


def test_an_anonymous_visitor_logs_in_and_returns_to_the_page(everybody, addresses):
    carol_with_password = people.make_person("caroline", "view_approvalrequest")
    client = everybody["anonymous"]
    for address in addresses.values():
        assert client.get(address).headers["Location"] == f"/login/?next={address}"
    credentials = {"username": carol_with_password.username, "password": people.PASSWORD}
    entered = client.post(f"/login/?next={addresses['chat']}", credentials | {"next": addresses["chat"]})
    assert (entered.status_code, entered.headers["Location"]) == (302, addresses["chat"])


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/workflows/",
        "/chats/",
        "{workflow}",
        "{request}",
        "{chat}",
        "{checkpoints}",
        "{checkpoint}",
        "{timeline}",
        "{compare}",
    ],
)
def test_a_read_only_page_refuses_post(everybody, addresses, address):
    refused = everybody["Bob"].post(address.format(**addresses))
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "address", ["{request}decide/", "{request}cancel/", "{chat}messages/", "{chat}stop/", "/chats/new/"]
)
def test_a_form_url_refuses_get(everybody, addresses, address):
    refused = everybody["Bob"].get(address.format(**addresses))
    assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "address", [f"/workflows/{HUGE}/", f"/chats/{HUGE}/", f"/chats/{HUGE}/checkpoints/", f"/chats/checkpoints/{HUGE}/"]
)
def test_a_number_too_large_for_the_database_is_not_found(everybody, address):
    assert everybody["Alice"].get(address).status_code == 404


def test_the_log_in_page_reports_a_wrong_password(client):
    people.make_person("alice")
    refused = client.post("/login/", {"username": "alice", "password": "guess"})
    (words,) = parse(refused.text).find("p", class_="refusal")
    assert words.words == "Wrong username or password."
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_the_log_in_redirects_only_within_the_site(client, elsewhere):
    user = people.make_person("alice")
    entered = client.post("/login/", {"username": user.username, "password": people.PASSWORD, "next": elsewhere})
    assert (entered.status_code, entered.headers["Location"]) == (302, "/")


def test_logging_out_needs_a_form_and_ends_the_session(everybody):
    client = everybody["Alice"]
    page = client.get("/logout/")
    words = "This address only accepts forms. Go back and press the button again."
    assert (page.status_code, page.headers["Allow"], words in page.text) == (405, "POST, OPTIONS", True)
    assert client.get("/").status_code == 200
    left = client.post("/logout/")
    assert (left.status_code, left.headers["Location"]) == (302, "/login/")
    assert client.get("/").headers["Location"] == "/login/?next=/"


def test_a_form_sent_after_the_session_ended_leads_to_the_log_in_and_an_existing_page(everybody, addresses):
    bob_with_password = people.make_person("robert", "decide_approvalrequest")
    client = everybody["anonymous"]
    for address in (f"{addresses['request']}decide/", f"{addresses['chat']}messages/", "/chats/new/"):
        client.logout()
        refused = client.post(address, {"verdict": "approve", "text": "Hello?"})
        login = refused.headers["Location"]
        credentials = {"username": bob_with_password.username, "password": people.PASSWORD}
        hidden, *_ = parse(client.get(login).text).find("input", name="next")
        entered = client.post(login, credentials | {"next": hidden.attributes["value"]}, follow=True)
        assert (refused.status_code, entered.status_code) == (302, 200)
