"""A deleted chat has no export."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from chats.models import Chat
from tests.support.chats.turns import make_chat
from tests.support.machines import machine
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def removed() -> Chat:
    chat = make_chat(alice())
    Chat.objects.filter(pk=chat.pk).update(pruned_at=timezone.now())
    return chat


def test_api_clients_are_told_that_the_chat_was_deleted(removed):
    for person in (removed.owner, bob()):
        answer = machine(person, "read").get(f"/api/chats/{removed.pk}/export")
        assert (answer.status, answer.code) == (410, "chat_removed")


def test_head_requests_and_client_ids_are_answered_alike(removed):
    program = machine(removed.owner, "read")
    for path in (f"/api/chats/{removed.pk}/export", f"/api/chat/{removed.public_id}/export"):
        assert [program.call(method, path).status for method in ("GET", "HEAD")] == [410, 410]


def test_browser_gets_a_page_about_the_deleted_chat(removed):
    browser = Client()
    browser.force_login(removed.owner)
    page = browser.get(f"/chats/{removed.pk}/export/", headers={"Accept": "text/html"})
    assert (page.status_code, "removed because of its age" in page.content.decode()) == (410, True)
    assert "Content-Disposition" not in page.headers


def test_others_do_not_learn_that_the_chat_existed(removed):
    answer = machine(mallory(), "read").get(f"/api/chats/{removed.pk}/export")
    assert (answer.status, answer.code) == (404, "not_found")
