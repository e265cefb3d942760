"""A WebSocket to an unknown address is refused properly and causes no server error."""

from __future__ import annotations

import pytest

from tests.support.lines import SOON, dial
from tests.support.services import real_processes  # noqa: F401 - a fixture

ODD = [
    "/",
    "/ws/",
    "/ws/nope/",
    "/ws/desk",
    "/ws/desk/x/",
    "/ws/chats/x/",
    "/ws/a\nb/",
    "/chats/1/",
    "/ws/\x00/",
    "/ws/é/",
]


@pytest.mark.parametrize("path", ODD)
async def test_an_unknown_websocket_of_our_page_is_closed_as_not_found(path):
    page = dial(path)
    assert await page.connect(SOON) == (True, None)
    assert await page.closed_with() == 4404
    await page.disconnect()


async def test_an_unknown_websocket_of_another_site_is_refused():
    page = dial("/ws/nope/", origin="http://evil.example")
    assert (await page.connect(SOON))[0] is False
