"""The header shows in which part of the product a page is, also below the lists."""

from __future__ import annotations

import pytest

from approvals.states import Kind, Priority
from tests.support.chats.turns import converse
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


def current(client, address: str) -> list[tuple[str, str]]:
    links = parse(client.get(address).text).find("nav")[0].find("a")
    return [(link.words, link.attributes["aria-current"]) for link in links if "aria-current" in link.attributes]


def test_every_page_belongs_to_one_part_of_the_header():
    owner, client = alice(), browser(bob())
    turn = converse(owner, "Please refund order 4711, 250 euros")
    request = make_request(owner, Kind.APPROVAL)
    places = {
        "/": [("Inbox", "page")],
        "/workflows/": [("Inbox", "true")],
        request.workflow.get_absolute_url(): [("Inbox", "true")],
        "/requests/": [("Inbox", "true")],
        request.get_absolute_url(): [("Inbox", "true")],
        "/chats/": [("Chats", "page")],
        turn.chat.get_absolute_url(): [("Chats", "true")],
        f"{turn.chat.get_absolute_url()}timeline/": [("Chats", "true")],
        "/insights/": [("Insights", "page")],
    }
    assert {address: current(client, address) for address in places} == places


def test_a_key_that_a_program_chose_is_shown_and_a_uuid_is_short():
    client = browser(bob())
    owner = alice()
    make_request(owner, Kind.APPROVAL, workflow=make_workflow(owner, key="release-2.14.0"))
    shown = [one.words for one in parse(client.get("/workflows/").text).find("span", class_="run")]
    assert [words.split()[-1] for words in shown] == ["release-2.14.0"]


def test_who_may_not_approve_is_not_told_how_by_keyboard():
    for person, told in ((bob(), ["a", "r"]), (alice(), [])):
        hint = parse(browser(person).get("/requests/").text).find("p", id="keys-hint")[0]
        assert [key.words for key in hint.find("kbd") if key.words in {"a", "r"}] == told


def test_a_critical_request_that_keys_do_not_decide_is_not_shown_with_keys_that_decide():
    owner, client, told = alice(), browser(bob()), {}
    for priority in (Priority.HIGH, Priority.CRITICAL):
        request = make_request(owner, Kind.APPROVAL, priority=priority)
        hint = parse(client.get(request.get_absolute_url()).text).find("p", id="keys-hint")[0]
        told[priority] = [key.words for key in hint.find("kbd")]
    assert told == {Priority.HIGH: ["a", "r", "?"], Priority.CRITICAL: ["?"]}
