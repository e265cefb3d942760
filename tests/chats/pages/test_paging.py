"""Pagination of chats and messages, and invalid query strings."""

from __future__ import annotations

import pytest
from django.test import Client

from chats.pages import views as chat_views
from tests.support.chats.scenes import completed, text
from tests.support.chats.turns import make_chat, say
from tests.support.markup import forms, parse
from tests.support.people import alice

pytestmark = pytest.mark.django_db

HOSTILE_PLACES = [
    "x",
    "-1",
    "1e3",
    "0",
    "9" * 8,
    "9" * 18,
    "9" * 19,
    "9" * 5000,
    "\N{ARABIC-INDIC DIGIT THREE}",
    "\x00",
    "²",
]


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def chat(db):
    return make_chat(alice())


def said(html: str) -> list[str]:
    return [one.words for one in parse(html).find("article")]


def test_messages_are_paginated_without_repeats(chat, monkeypatch):
    monkeypatch.setattr(chat_views, "MESSAGES_SHOWN", 4)
    for number in range(5):
        completed(chat, f"question {number}", text(f"answer {number}"))
    client, address, seen = browser(chat.owner), chat.get_absolute_url(), []
    while address:
        page = client.get(address).text
        seen = [*said(page), *seen]
        older = [link for link in parse(page).find("a", class_="button") if link.words == "Earlier messages"]
        address = f"{chat.get_absolute_url()}{older[0].attributes['href']}" if older else None
    assert seen == [words for number in range(5) for words in (f"question {number}", f"answer {number}")]


def test_chats_are_paginated_latest_first(monkeypatch):
    monkeypatch.setattr(chat_views, "PAGE", 3)
    owner = alice()
    for number in range(8):
        say(make_chat(owner), f"chat {number}")
    client, address, seen = browser(owner), "/chats/", []
    while address:
        page = parse(client.get(address).text)
        seen.append([row.words for row in page.find("a", class_="row-title")])
        older = [link.attributes["href"] for link in page.find("a", class_="button") if link.words == "Older chats"]
        address = f"/chats/{older[0]}" if older else None
    assert seen == [["chat 7", "chat 6", "chat 5"], ["chat 4", "chat 3", "chat 2"], ["chat 1", "chat 0"]]


@pytest.mark.parametrize("place", HOSTILE_PLACES, ids=lambda place: ascii(place)[:20])
def test_invalid_cursor_is_ignored(chat, place):
    completed(chat)
    client = browser(chat.owner)
    assert client.get("/chats/", {"before": place}).status_code == 200
    assert client.get(chat.get_absolute_url(), {"before": place}).status_code == 200


def test_page_of_earlier_messages_has_no_composer(chat, monkeypatch):
    monkeypatch.setattr(chat_views, "MESSAGES_SHOWN", 2)
    completed(chat)
    completed(chat)
    client = browser(chat.owner)
    latest, earlier = (client.get(f"{chat.get_absolute_url()}{query}").text for query in ("", "?before=2"))
    for page, live, composers in ((latest, [f"/ws/chats/{chat.pk}/"], 1), (earlier, [], 0)):
        lines = [one.attributes["ws-connect"] for one in parse(page).all() if "ws-connect" in one.attributes]
        assert (lines, len(forms(page, "/messages/"))) == (live, composers)
    (link,) = parse(earlier).find("a", class_="button")
    assert (link.words, link.attributes["href"]) == ("Latest messages", chat.get_absolute_url())
