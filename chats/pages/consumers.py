"""The WebSocket consumer of the chat page: pushes the stored chat, and streams the text of the running step."""

from __future__ import annotations

import asyncio
import functools
from time import monotonic
from typing import Any

from django.template.loader import render_to_string
from django.utils.translation import gettext

from approvals.access.standing import Standing
from approvals.db import pool
from approvals.exceptions import NotFound
from approvals.live import doorbell
from approvals.live.batching import BatchCache
from approvals.pages.consumers import NOT_FOUND, LiveConsumer
from approvals.pages.pushes import assignee
from approvals.states import Door
from chats import queries
from chats.agent import events
from chats.doorbell import chat_group
from chats.engine import streams
from chats.exceptions import ChatNotFound
from chats.pages.context import render_push
from chats.queries.values import words_of_silence

#: While a turn is streamed, the session and the permissions are checked again after this many seconds.
RECHECK_AFTER = 1.0
#: How many of the last messages a reconnecting page gets.
CATCH_UP = 20


class ChatConsumer(LiveConsumer):
    """Push the stored chat on every change, and the text of the running step in between.

    The text of a running step has an element of its own, which the stored step replaces when it is committed. So a page never
    shows a step twice, and the next push repairs a lost delta.
    """

    door = Door.CHAT
    following: asyncio.Task[None] | None = None

    def groups_for(self, viewer: Standing) -> list[str]:
        self.chat_pk = int(self.scope["url_route"]["kwargs"]["pk"])
        try:
            chat = queries.get_chat_for(viewer, self.chat_pk)
        except ChatNotFound as error:
            raise NotFound from error
        return [
            chat_group(self.chat_pk),
            doorbell.user_group(viewer.pk),
            doorbell.scope_group(chat.scope),
        ]

    def catch_up(self, viewer: Standing, shared: BatchCache) -> str:
        """Render more messages than usual: several may have been sent on another device meanwhile."""
        return render_push(
            viewer, queries.get_chat_for(viewer, self.chat_pk), limit=CATCH_UP
        )

    async def push(self, *args: Any, mark: str = "") -> bool:
        try:
            active = await super().push(*args, mark=mark)
        except ChatNotFound:
            await self.close(NOT_FOUND)
            return False
        if active:
            await self._follow()
        return active

    async def disconnect(self, code: int) -> None:
        await super().disconnect(code)
        if self.following is not None:
            self.following.cancel()

    async def chat_changed(self, event: dict[str, Any]) -> None:
        await self.push(_latest, self.chat_pk)

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """Push a browser notification of a request in another chat; `chat_changed` covers this one."""
        await self.push(assignee.render_notification, event["request"])

    async def _follow(self) -> None:
        """Stream the running turn, if there is one and it is not being streamed yet."""
        if self.following is not None and not self.following.done():
            return
        running = await self.read(
            functools.partial(pool.run, queries.running_turn, self.chat_pk)
        )
        if running is not None:
            self.following = asyncio.create_task(self._stream(*running))

    async def _stream(self, turn_id: int, after: int) -> None:
        step = 0
        checked = monotonic()
        silent = False
        async for _, event in streams.follow(turn_id, after):
            if monotonic() - checked > RECHECK_AFTER:
                # Not every end of a session or permission sends a notification.
                if not await self.push(_nothing_new, self.chat_pk):
                    return
                checked = monotonic()
            if silent and isinstance(event, events.FIRST_WORDS):
                silent = False
                await self.send(_turn_words(gettext("The agent is working…")))
            match event:
                case events.StepStarted(index):
                    step = index
                    context = {"turn_id": turn_id, "step": step}
                    await self.send(
                        render_to_string("chats/chat/_live_step.html", context)
                    )
                case events.TextDelta(_, text):
                    await self.send(_delta(turn_id, step, "text", text))
                case events.ReasoningDelta(_, text):
                    await self.send(_delta(turn_id, step, "thinking", text))
                case events.ModelSilent(attempt, attempts):
                    silent = True
                    await self.send(_turn_words(words_of_silence(attempt, attempts)))
                case _:
                    continue
        self.following = None
        await self.push(_latest, self.chat_pk)


def _latest(viewer: Standing, shared: BatchCache, chat_pk: int) -> str:
    return render_push(viewer, queries.get_chat_for(viewer, chat_pk))


def _nothing_new(viewer: Standing, shared: BatchCache, chat_pk: int) -> str:
    """Return an empty push. Raise ChatNotFound if the user may no longer see the chat."""
    queries.get_chat_for(viewer, chat_pk)
    return ""


def _turn_words(text: str) -> str:
    return render_to_string("chats/chat/_turn_words.html", {"text": text})


def _delta(turn_id: int, step: int, kind: str, text: str) -> str:
    context = {"turn_id": turn_id, "step": step, "kind": kind, "text": text}
    return render_to_string("chats/chat/_delta.html", context)
