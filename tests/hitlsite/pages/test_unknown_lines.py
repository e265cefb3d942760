"""WebSockets at unknown addresses are refused by the protocol, without a server error."""

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
async def test_unknown_socket_address_is_closed_as_not_found(path):
    page = dial(path)
    assert await page.connect(SOON) == (True, None)
    assert await page.closed_with() == 4404
    await page.disconnect()


async def test_unknown_socket_address_is_denied_to_other_sites():
    page = dial("/ws/nope/", origin="http://evil.example")
    assert (await page.connect(SOON))[0] is False
