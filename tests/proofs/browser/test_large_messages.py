"""A message that is too large to be pushed keeps the page of its chat live: the page fetches the large part, once."""

from __future__ import annotations

import re

import pytest

from tests.proofs.browser.places import LIVE
from tests.proofs.browser.test_story import ask, wait_for_state, write

pytestmark = pytest.mark.browser

#: Add the result of a tool to the last answer, as long as one may be.
ADD = """
from chats.models import Chat
answer = Chat.objects.get(pk={pk}).shown.filter(role="assistant").latest("position")
output = "The beginning. " + "<" * 300_000
answer.parts = [*answer.parts, {{"type": "tool-export", "toolCallId": "c1", "state": "output-available", "output": output}}]
answer.save()
"""


def test_a_part_too_large_to_be_pushed_is_fetched_once_and_the_page_stays_live(windows, people, server):
    page = ask(windows, people, "hello")
    wait_for_state(page, "completed")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "/parts/" in request.url else None)
    server.run(ADD.format(pk=re.search(r"/chats/(\d+)/", page.url)[1]))
    # With a message, the answer before it is pushed too.
    write(page, "hello again")
    large = page.locator(".message.assistant .part-tool pre", has_text="The beginning.")
    large.wait_for(state="attached")
    page.locator(".message.assistant").nth(1).locator(".part-text").wait_for()
    wait_for_state(page, "completed")
    assert (len(fetched), large.count(), page.evaluate("window.untouched")) == (1, 1, True)
    page.wait_for_selector(LIVE)
    # A page that connects gets the last messages, and keeps the displayed ones.
    page.reload()
    page.wait_for_selector(LIVE)
    write(page, "and again")
    page.locator(".message.assistant").nth(2).locator(".part-text").wait_for()
    assert (len(fetched), large.count()) == (1, 1)
