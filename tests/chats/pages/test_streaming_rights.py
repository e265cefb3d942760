"""Text of a running turn is streamed only while the session and the permission last."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from django.contrib.auth.models import User

from approvals.db.pool import run
from approvals.pages import consumers
from chats.pages import consumers as chat_consumers
from tests.hitlsite.pages.test_websockets import deactivate, end_session, turn_of
from tests.support.chats import agents
from tests.support.chats.turns import make_chat, say
from tests.support.lines import SOON, line
from tests.support.people import alice, carol

pytestmark = pytest.mark.django_db(transaction=True)


async def lose_the_permission(user: User) -> None:
    await run(user.user_permissions.clear)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (end_session, consumers.LOGGED_OUT),
        (deactivate, consumers.LOGGED_OUT),
        (lose_the_permission, consumers.NOT_FOUND),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
async def test_text_is_streamed_only_while_the_page_may_see_it(end, code, settings, monkeypatch):
    monkeypatch.setattr(chat_consumers, "RECHECK_AFTER", 0.0)
    settings.HITL_AGENTS = [agents.PATH]
    chat, reader = await run(lambda: make_chat(alice())), await run(carol)
    await run(say, chat, "recite")
    working = asyncio.create_task(turn_of(chat))
    async with line(f"/ws/chats/{chat.pk}/", reader) as page:
        await page.until("This ")
        await end(reader)
        async with asyncio.timeout(SOON):
            while (message := await page.receive_output(SOON))["type"] != "websocket.close":
                assert message["type"] == "websocket.send"
        assert (message["code"], await run(lambda: chat.turns.get().state)) == (code, "running")
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
