"""The compressed HTML, styles and scripts of a page stay under 150 kB."""

from __future__ import annotations

import gzip
import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from chats.queries import open_requests
from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

LIMIT = 150_000
#: As many paused chats as one page shows at most.
MANY = 25


@pytest.fixture
def pages() -> dict[str, str]:
    """Return the text of each page for Bob, with as much content as possible."""
    owner = alice()
    turns = [paused(make_chat(owner)) for _ in range(MANY)]
    (request, *_) = open_requests(turns[0])
    client = Client()
    client.force_login(bob())
    addresses = ["/", "/workflows/", f"/requests/{request.pk}/", f"/chats/{turns[0].chat_id}/", "/insights/"]
    return {address: client.get(address).content.decode() for address in addresses}


def compressed(content: bytes) -> int:
    return len(gzip.compress(content, 6))


def weight(page: str) -> int:
    """Return the compressed bytes of a page with its styles and scripts."""
    named = re.findall(r'<(?:link rel="stylesheet" href|script src)="/static/([^"?]+)', page)
    assert len(named) > 10
    files = [finders.find(name) for name in named]
    assert None not in files, named
    total = compressed(page.encode())
    for file in files:
        with open(file, "rb") as content:
            total += compressed(content.read())
    return total


def test_every_page_stays_below_the_weight_limit(pages):
    weights = {address: weight(page) for address, page in pages.items()}
    assert {address: found for address, found in weights.items() if found >= LIMIT} == {}, weights
