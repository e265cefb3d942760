"""Live pages: a WebSocket hears rings, re-reads the rows as its own user and pushes what that user may see."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import User
from django.template.loader import render_to_string

from approvals import queries
from approvals.access import permissions
from approvals.exceptions import NotFound
from approvals.live import doorbell, liveness
from approvals.live.batching import Rounds, Shared
from approvals.models import ApprovalRequest, Workflow
from approvals.pages import assignee_pushes
from approvals.pages.cards import card_for
from approvals.pages.context import counts, seen_request, seen_waiting, workflow_card
from approvals.runtime import database
from approvals.runtime.sessions import user_of, users_of
from approvals.states import Door

T = TypeVar("T")

#: Makes HTML for a person (and what others of the round may use too) of some arguments.
Render = Callable[..., str]

#: A page that has missed more changes than this is told to reload.
CATCH_UP = 50
#: Close codes of our own; the page does not try again after them.
SIGNED_OUT = 4401
NOT_FOUND = 4404


class LiveConsumer(AsyncWebsocketConsumer):
    """A page's line to the server. It only listens; decisions go as forms, with CSRF and a status.

    Every push checks the session anew, so a page whose session has ended gets nothing more and is closed.
    """

    #: Whose cards the page shows.
    door = Door.DASHBOARD

    async def connect(self) -> None:
        doorbell.listen_on(asyncio.get_running_loop())
        self.session_key = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        self.joined: list[str] = []
        await self.accept()
        user = await self.read(_run(user_of, self.session_key)) if self.session_key else None
        if user is None:
            await self.close(SIGNED_OUT)
            return
        try:
            groups = await self.read(_run(self.groups_for, user))
        except NotFound:
            await self.close(NOT_FOUND)
            return
        # Listen first, then catch up: what happens in between comes twice and not never.
        for group in groups:
            await self.channel_layer.group_add(group, self.channel_name)
            self.joined.append(group)
        liveness.watch(self)
        await self.push(self.catch_up)
        if not liveness.is_live():
            await self.send(_live_mark(live=False))

    async def heard(self, *, live: bool) -> None:
        """Pushes have stopped, or have come back: the page says so, and shows what it missed."""
        await self.send(_live_mark(live=live))
        await self.push(self.catch_up)

    async def disconnect(self, code: int) -> None:
        liveness.forget(self)
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)

    def groups_for(self, user: User) -> list[str]:
        """The groups whose rings this page hears. Raises NotFound."""
        raise NotImplementedError

    def catch_up(self, user: User, shared: Shared) -> str:
        """HTML for what changed between the page's rendering and now."""
        raise NotImplementedError

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Channels' own would first close the connections of a thread of its own, which has none: one hop for each page."""
        await getattr(self, get_handler_name(message))(message)

    async def read(self, look: Callable[[], Awaitable[T]]) -> T:
        """What the rows say. While the database is away the page says that it is late, and is served when it is back."""
        try:
            return await look()
        except database.AWAY:
            await self.send(_live_mark(live=False))
        found = await database.until_back(look)
        await self.send(_live_mark(live=liveness.is_live()))
        return found

    async def push(self, render: Render, *args: Hashable) -> bool:
        """Render with the session's user and send; close if the session has ended, and say whether it goes on.

        Pages that push the same at the same time are rendered for together, and a person's pages once.
        """
        html = await self.read(functools.partial(_pages.read, (render, args), self.session_key))
        if html is None:
            await self.close(SIGNED_OUT)
        elif html.strip():
            await self.send(html)
        return html is not None

    async def request_handled(self, event: dict[str, Any]) -> None:
        """People were at a request: it was taken, handed over or talked about."""
        await self.push(assignee_pushes.handled, event["event"], event["request"], event["comment"], self.door)

    async def session_ended(self, event: dict[str, Any]) -> None:
        """Somebody logged out; if it was this page's session, that was that."""
        await self.push(_nothing)


def _run(work: Callable[..., T], *args: Any) -> Callable[[], Awaitable[T]]:
    return functools.partial(database.run, work, *args)


def _rendered(wanted: tuple[Render, tuple[Hashable, ...]], session_keys: Sequence[str]) -> list[str | Exception | None]:
    """HTML for each session's page; None for those that have ended."""
    render, args = wanted
    users, shared = users_of(session_keys), Shared()
    permissions.know_rights(users.values())

    def for_page(key: str) -> str | Exception | None:
        user = users.get(key)
        try:
            return None if user is None else shared.once(("person", user.pk), lambda: render(user, shared, *args))
        except Exception as error:
            # One page's trouble is not the others'.
            return error

    return [for_page(key) for key in session_keys]


_pages = Rounds(_rendered)


def _nothing(user: User, shared: Shared) -> str:
    return ""


def _live_mark(*, live: bool) -> str:
    return render_to_string("_live_mark.html", {"live": live})


class DeskConsumer(LiveConsumer):
    """The dashboard, and the pages of one request or workflow."""

    def groups_for(self, user: User) -> list[str]:
        return [doorbell.user_group(user.pk), *([doorbell.DESK] if permissions.sees_everything(user) else [])]

    def catch_up(self, user: User, shared: Shared) -> str:
        since = since_of(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(queries.changed_since(user, since)[: CATCH_UP + 1])
        touched = assignee_pushes.catch_up(user, since, limit=CATCH_UP)
        if len(missed) > CATCH_UP or touched is None:
            return render_to_string("approvals/_outdated.html")
        pending = [request.workflow_id for request in missed if request.pending]
        waiting = {found.pk: found for found in queries.suspended_workflows_for(user).filter(pk__in=pending)}
        changed = [_changed(user, shared, request, waiting.pop(request.workflow_id, None)) for request in missed]
        over = list(queries.ended_workflows_for(user).filter(ended_at__gte=since)[:CATCH_UP])
        changed += [_ended(workflow) for workflow in reversed(over)]
        return "".join(changed) + touched + (_counted(user, shared) if changed else "")

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """A request was asked or has ended, or a workflow has ended."""
        await self.push(_workflow_changed, event["workflow"], event["request"])


def since_of(query: bytes) -> datetime | None:
    """When the page was rendered, from `since=<Unix time in seconds>`."""
    sent = parse_qs(query.decode("ascii", "replace")).get("since", [""])[0]
    return datetime.fromtimestamp(int(sent), UTC) if sent.isascii() and sent.isdigit() and len(sent) < 12 else None


def _workflow_changed(user: User, shared: Shared, workflow_pk: int, request_id: str) -> str:
    request = seen_request(user, shared, request_id) if request_id else None
    if request is not None:
        waiting = seen_waiting(user, shared, request) if request.pending else None
        concerned = {request.requested_by_id, request.assigned_to_id}
        return _changed(user, shared, request, waiting) + _counted(user, shared, concerned)
    by_sight = ("workflow", permissions.sight_of(user))
    workflow = shared.once(by_sight, lambda: queries.workflows_for(user).filter(pk=workflow_pk).first())
    if workflow is None:
        return ""
    return shared.once(("ended", workflow.shown_title), lambda: _ended(workflow)) + _counted(
        user, shared, {workflow.owner_id}
    )


def _ended(workflow: Workflow) -> str:
    return render_to_string("approvals/workflows/_push.html", {"workflow": workflow})


def _changed(user: User, shared: Shared, request: ApprovalRequest, waiting: Workflow | None) -> str:
    """The request's card, for pages that show it; its workflow where it waits, whole, for pages that do not."""
    context: dict[str, Any] = {
        "card": card_for(user, request),
        "workflow": request.workflow,
        "item": workflow_card(user, waiting) if waiting is not None else None,
    }
    cards = [context["card"], *(context["item"]["cards"] if waiting is not None else ())]
    look = ("changed", waiting.shown_title if waiting is not None else "", *(card.look for card in cards))
    return shared.once(look, lambda: render_to_string("approvals/request/_push.html", context))


def _counted(user: User, shared: Shared, concerned: Collection[int | None] | None = None) -> str:
    """The counts; what waits for this person is counted anew where it is one of those concerned (None: everybody)."""
    found = counts(user, shared, own=concerned is None or user.pk in concerned)
    return shared.once(
        tuple(found.items()), lambda: render_to_string("approvals/dashboard/_counts.html", {**found, "oob": True})
    )
