"""The demo's part of the log-in page: only with DEBUG, and only where the demo's people are."""

from __future__ import annotations

import pytest

from hitlsite.demo.people import PEOPLE, make_person
from tests.support.markup import parse

pytestmark = pytest.mark.django_db

WORDS = "Each button logs you in."


def offered(client) -> list[tuple[str, str]]:
    forms = parse(client.get("/login/?next=/insights/").text).find("form")
    fields = [{one.attributes["name"]: one.attributes.get("value") for one in form.find("input")} for form in forms]
    return [(each["username"], each["next"]) for each in fields if each.get("password")]


def add_demo() -> None:
    for each in PEOPLE:
        make_person(each.username, each.role, each.staff)


def test_the_log_in_page_offers_the_people_of_the_demo(client, settings):
    settings.DEBUG = True
    add_demo()
    assert offered(client) == [(each.username, "/insights/") for each in PEOPLE]
    assert WORDS in client.get("/login/").text


@pytest.mark.parametrize(("debug", "demo"), [(False, True), (True, False), (False, False)])
def test_no_other_log_in_page_names_anyone(client, settings, debug, demo):
    settings.DEBUG = debug
    if demo:
        add_demo()
    assert (offered(client), WORDS in client.get("/login/").text) == ([], False)
