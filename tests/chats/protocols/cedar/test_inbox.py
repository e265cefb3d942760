"""Workflows from Cedar-OS are listed with all others and name their source."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support import people
from tests.support.chats.front_end import front_end
from tests.support.chats.turns import converse
from tests.support.machine import Machine
from tests.support.markup import parse

pytestmark = pytest.mark.django_db(transaction=True)


def test_workflows_of_all_sources_are_listed_together():
    bob = people.bob()
    front_end(bob).paused("approve payment")
    converse(bob, "approve refund")
    Machine(bob).ask()
    Machine(bob).post("/ask-human", {"question": "Which colour?"})
    browser = Client()
    browser.force_login(bob)
    people_of_rows = [span.words for span in parse(browser.get("/workflows/").text).find("span", class_="row-person")]
    origins = ["chat", "Cedar-OS", "API", "ask-human"]
    assert {origin: people_of_rows.count(f"via {origin}") for origin in origins} == dict.fromkeys(origins, 1)
