"""The chat page's line to the server: text as it is written, and the chat as it is stored."""

from __future__ import annotations

import asyncio
import functools
from time import monotonic
from typing import Any

from django.contrib.auth.models import User
from django.template.loader import render_to_string

from approvals.exceptions import NotFound
from approvals.live import doorbell
from approvals.live.batching import Shared
from approvals.pages import assignee_pushes
from approvals.pages.consumers import NOT_FOUND, LiveConsumer
from approvals.runtime import database
from approvals.states import Door
from chats import queries
from chats.agent import events
from chats.doorbell import chat_group
from chats.engine import streams
from chats.exceptions import ChatNotFound
from chats.pages.context import render_push

#: So long, in seconds, a page is streamed to before it is asked again whose it is.
LOOK_AGAIN = 1.0
#: A page that comes back is brought up to date in this many of the last messages.
CATCH_UP = 20


class ChatConsumer(LiveConsumer):
    """Pushes the stored chat on every change, and the running step's text in between.

    The text of a running step lives in an element of its own, which goes when the step is committed and its stored form
    takes its place; so a page never shows a step twice, and a lost delta is mended by the next push.
    """

    door = Door.CHAT
    following: asyncio.Task[None] | None = None

    def groups_for(self, user: User) -> list[str]:
        self.chat_pk = int(self.scope["url_route"]["kwargs"]["pk"])
        try:
            chat = queries.get_chat_for(user, self.chat_pk)
        except ChatNotFound as error:
            raise NotFound from error
        return [chat_group(self.chat_pk), doorbell.user_group(user.pk), doorbell.scope_group(chat.scope)]

    def catch_up(self, user: User, shared: Shared) -> str:
        """More than the last messages: others may have come, on another device, while this page was away."""
        return render_push(user, queries.get_chat_for(user, self.chat_pk), limit=CATCH_UP)

    async def push(self, *args: Any) -> bool:
        try:
            goes_on = await super().push(*args)
        except ChatNotFound:
            await self.close(NOT_FOUND)
            return False
        if goes_on:
            await self._follow()
        return goes_on

    async def disconnect(self, code: int) -> None:
        await super().disconnect(code)
        if self.following is not None:
            self.following.cancel()

    async def chat_changed(self, event: dict[str, Any]) -> None:
        await self.push(_latest, self.chat_pk)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """Rung on the user's own group: the chat's own ring brings what is shown here, this one a notification."""
        await self.push(assignee_pushes.news, event["request"])

    async def _follow(self) -> None:
        """Stream the turn, if one runs and is not followed yet."""
        if self.following is not None and not self.following.done():
            return
        found = await self.read(functools.partial(database.run, queries.running_turn, self.chat_pk))
        if found is not None:
            self.following = asyncio.create_task(self._stream(*found))

    async def _stream(self, turn_id: int, after: int) -> None:
        step, looked = 0, monotonic()
        async for _, event in streams.follow(turn_id, after):
            if monotonic() - looked > LOOK_AGAIN:
                # Not every session and not every right ends with a ring.
                if not await self.push(_nothing_new, self.chat_pk):
                    return
                looked = monotonic()
            match event:
                case events.StepStarted(index):
                    step = index
                    await self.send(_live_step(turn_id, step))
                case events.TextDelta(_, text) | events.ReasoningDelta(_, text):
                    context = {"turn_id": turn_id, "step": step, "text": text}
                    await self.send(render_to_string("chats/chat/_delta.html", context))
                case _:
                    continue
        self.following = None
        await self.push(_latest, self.chat_pk)


def _latest(user: User, shared: Shared, chat_pk: int) -> str:
    return render_push(user, queries.get_chat_for(user, chat_pk))


def _nothing_new(user: User, shared: Shared, chat_pk: int) -> str:
    """Nothing, for those who may still see the chat. ChatNotFound."""
    queries.get_chat_for(user, chat_pk)
    return ""


def _live_step(turn_id: int, step: int) -> str:
    return render_to_string("chats/chat/_live_step.html", {"turn_id": turn_id, "step": step})
