"""Cards show to which address the decision is sent."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

ADDRESS = "https://agent.example.org/outcome?run=1&x=%3Cb%3E"


def card(**changes: object) -> str:
    request = make_request(alice(), **changes)
    browser = Client()
    browser.force_login(bob())
    return browser.get(request.get_absolute_url()).content.decode()


def test_card_shows_the_callback_address(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    (shown,) = parse(card(callback_url=ADDRESS)).find("p", class_="callback")
    assert shown.words == f"The decision is sent to {ADDRESS}"


def test_card_without_a_callback_does_not_mention_one():
    assert "The decision is sent to" not in card()
