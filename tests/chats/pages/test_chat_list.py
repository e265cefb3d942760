"""The list of chats: states, filters, search, and the pages of each."""

from __future__ import annotations

import pytest
from django.test import Client

from chats.pages import views
from tests.support.chats.scenes import REFUND, answer, completed, text, use
from tests.support.chats.turns import make_chat, say
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def listed(client: Client, query: str = "") -> list[tuple[str, str]]:
    """Return the title and state of each chat of the list."""
    rows = parse(client.get(f"/chats/{query}").text).find("li", class_="list-row")
    return [
        (row.find("a")[0].words, "".join(badge.words for badge in row.find("span", class_="badge"))) for row in rows
    ]


@pytest.fixture
def alices(db) -> Client:
    """Alice's browser; she has a suspended, a completed and a queued chat."""
    asker = alice()
    answer(say(make_chat(asker), "Refund order 4711"), text("I will."), use("issueRefund", REFUND))
    completed(make_chat(asker), "Where is order 4711")
    say(make_chat(asker), "Cancel my account")
    return browser(asker)


def test_each_chat_shows_the_state_of_its_last_turn(alices):
    assert listed(alices) == [
        ("Cancel my account", "Queued"),
        ("Where is order 4711", "Completed"),
        ("Refund order 4711", "Suspended"),
    ]


def test_chats_are_filtered_by_state_words_and_agent(alices):
    found = {
        query: [title for title, _state in listed(alices, query)]
        for query in (
            "?state=suspended", "?state=running", "?state=completed", "?q=4711", "?q=ORDER+refund",
            "?q=4711&state=completed", "?agent=support", "?agent=nobody", "?state=odd", "?q=%00",
        )
    }  # fmt: skip
    newest_first = ["Cancel my account", "Where is order 4711", "Refund order 4711"]
    assert found == {
        "?state=suspended": ["Refund order 4711"],
        "?state=running": ["Cancel my account"],
        "?state=completed": ["Where is order 4711"],
        "?q=4711": ["Where is order 4711", "Refund order 4711"],
        "?q=ORDER+refund": ["Refund order 4711"],
        "?q=4711&state=completed": ["Where is order 4711"],
        "?agent=support": newest_first,
        "?agent=nobody": [],
        "?state=odd": newest_first,
        "?q=%00": newest_first,
    }


def test_a_filter_without_a_result_offers_all_chats(alices):
    (words,) = parse(alices.get("/chats/?q=nothing-like-this").text).find("li", class_="empty")
    assert (words.words, words.find("a")[0].attributes["href"]) == ("No chat matches. Show all chats", "/chats/")


def test_the_next_page_keeps_the_filters(alices, monkeypatch):
    monkeypatch.setattr(views, "PAGE", 1)
    (older,) = [
        link.attributes["href"]
        for link in parse(alices.get("/chats/?q=4711").text).find("a")
        if link.words == "Older chats"
    ]
    assert listed(alices, older) == [("Refund order 4711", "Suspended")]


def test_filters_show_no_chats_of_others(alices):
    assert listed(browser(bob()), "?q=4711&state=suspended") == [("Refund order 4711", "Suspended")]
    assert listed(browser(mallory()), "?q=4711") == []
