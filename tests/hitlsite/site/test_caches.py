"""Responses to a logged-in person or an API client are not cached by proxies or browsers."""

from __future__ import annotations

import pytest
from django.test import Client

from chats.models import Chat
from tests.hitlsite.site.test_security import addresses
from tests.support.desk.requests import make_request
from tests.support.machine import Machine
from tests.support.people import bob

pytestmark = pytest.mark.django_db

OURS = "private, no-store"


def test_every_page_forbids_caching():
    browser, person = Client(), bob()
    browser.force_login(person)
    same_for_all = {"/words.js", "/manifest.webmanifest", "/worker.js"}
    found = [page for page in addresses() if page not in {*same_for_all, "/logout/", "/admin/logout/"}]
    made = make_request(person)
    for page in [*found, made.get_absolute_url()]:
        said = browser.get(page).headers.get("Cache-Control", "")
        assert (page, "private" in said or "no-store" in said) == (page, True)
    assert browser.get("/").headers["Cache-Control"] == OURS


def test_every_api_response_forbids_caching():
    machine = Machine(bob())
    asked = machine.ask()
    replies = [machine.get("/requests"), machine.get(f"/requests/{asked['id']}"), machine.get("/nothing")]
    replies += [machine.decide(asked, "approve"), Machine().get("/requests"), machine.get("/openapi.json")]
    assert {reply.headers["cache-control"] for reply in replies} == {OURS}


def test_a_chat_with_an_etag_may_be_cached_by_its_client_only(client):
    person = bob()
    client.force_login(person)
    client.post("/chats/new/", {"text": "hello", "agent": "support"})
    address = f"/api/chat/{Chat.objects.get().public_id}"
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.headers["Cache-Control"]) == (304, "private, no-cache")


def test_public_files_may_be_cached(client):
    assert client.get("/words.js").headers["Cache-Control"] == "max-age=3600"
