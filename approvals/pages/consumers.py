"""WebSocket consumers of live pages: on a notification, read the rows and push those that the page's user may see."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch
from django.conf import settings
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.utils.translation import activate, override

from approvals import queries
from approvals.access import permissions
from approvals.access.rights import DECIDE
from approvals.access.sessions import user_of, users_of
from approvals.access.standing import NOBODY, Standing, standings_of
from approvals.access.visibility import viewer_key, visibility_key
from approvals.db import pool
from approvals.db.cursors import number_from
from approvals.exceptions import NotFound
from approvals.live import doorbell, listeners, liveness
from approvals.live.batching import BatchCache, BatchReader
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.cards import card_for, named_in
from approvals.pages.context import tab_counts, visible_request
from approvals.pages.pushes import absence, assignee
from approvals.pages.pushes.result import render_results
from approvals.queries.preferences import languages_of
from approvals.queries.results import reported_since
from approvals.states import Door

T = TypeVar("T")

#: Renders HTML for a user from some arguments; takes a cache shared by all pages of the same push.
Render = Callable[..., str]

#: A page that missed more changes than this is asked to reload.
CATCH_UP = 50
#: Maximum bytes of a push: a message of more than 1 MiB would close the socket. For more, the page is asked to reload.
MAX_PUSH = 1_000_000
#: Maximum notifications queued for a page while the database is away; more are dropped.
UNSHOWN = 100
#: Our own close codes, after which the page does not reconnect.
LOGGED_OUT = 4401
NOT_FOUND = 4404


class LiveConsumer(AsyncWebsocketConsumer):
    """The WebSocket of a page. It only receives; decisions are submitted as forms, with CSRF protection.

    Every push checks the session again, so a page whose session has ended gets nothing more and is closed.
    """

    #: The `via` value of decisions that are made on this page.
    door = Door.DASHBOARD

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one page. Unlike other consumers it has no channel of its own: see `approvals.live.listeners`."""
        self.scope = scope
        self.base_send = send
        self.notifications: asyncio.Queue[dict[str, Any]] = asyncio.Queue(UNSHOWN)
        self.subscription = listeners.Subscription(self._notify)
        sources: list[Any] = [receive, self.notifications.get]
        try:
            with contextlib.suppress(StopConsumer):
                await await_many_dispatch(sources, self.dispatch)
        finally:
            self.subscription.leave()

    def _notify(self, message: Mapping[str, Any]) -> None:
        if not self.notifications.full():
            self.notifications.put_nowait(dict(message))

    async def connect(self) -> None:
        self.session_key = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        await self.accept()
        user = (
            await self.read(_run(user_of, self.session_key))
            if self.session_key
            else None
        )
        if user is None:
            await self.close(LOGGED_OUT)
            return
        try:
            language, groups = await self.read(_run(self._language_and_groups, user.pk))
        except NotFound:
            await self.close(NOT_FOUND)
            return
        # For this page's own messages; fragments rendered for many pages use the language of each.
        activate(language)
        # Join the groups before catching up, so that a change in between is pushed twice rather than never.
        await listeners.wait_until_ready(*self.subscription.join(groups))
        liveness.add_page(self)
        await self.show_liveness(live=liveness.is_live())

    async def show_liveness(self, *, live: bool) -> None:
        """Push whether the page is live, together with the changes that it missed; called when that changes."""
        await self.push(self.catch_up, mark=_live_mark(live=live))

    async def disconnect(self, code: int) -> None:
        liveness.remove_page(self)

    def _language_and_groups(self, user_id: int) -> tuple[str, list[str]]:
        return languages_of([user_id])[user_id], self.groups_for(
            standings_of([user_id]).get(user_id, NOBODY)
        )

    def groups_for(self, viewer: Standing) -> list[str]:
        """Return the channel groups of this page. Raise NotFound if the user may not see it."""
        raise NotImplementedError

    def catch_up(self, viewer: Standing, shared: BatchCache) -> str:
        """Render the changes since the page was rendered."""
        raise NotImplementedError

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Call the handler directly. Channels would first close old database connections in a thread, once for each page."""
        await getattr(self, get_handler_name(message))(message)

    async def read(self, query: Callable[[], Awaitable[T]]) -> T:
        """Run a query. While the database is unavailable, mark the page as delayed and wait until it is back."""
        try:
            return await query()
        except pool.AWAY:
            await self.send(_live_mark(live=False))
        result = await pool.retry_while_away(query)
        await self.send(_live_mark(live=liveness.is_live()))
        return result

    async def push(self, render: Render, *args: Hashable, mark: str = "") -> bool:
        """Render for the session's user and send it after `mark`. Return False, and close the socket, if the session has ended.

        Pages that push the same thing at the same time are rendered together, and the pages of one user only once.
        """
        html = await self.read(
            functools.partial(_pages.read, (render, args), self.session_key)
        )
        if html is None:
            await self.close(LOGGED_OUT)
        elif html.strip() or mark:
            await self.send(
                mark + html
                if len(html.encode()) <= MAX_PUSH
                else render_to_string("approvals/_outdated.html")
            )
        return html is not None

    async def request_handled(self, event: dict[str, Any]) -> None:
        """Push a request that was claimed, unassigned, assigned or commented on."""
        await self.push(
            assignee.render_change,
            event["event"],
            event["request"],
            event["comment"],
            self.door,
        )

    async def absence_changed(self, event: dict[str, Any]) -> None:
        """Do nothing: this page shows no requests that delegates decide."""

    async def session_ended(self, event: dict[str, Any]) -> None:
        """Check the session again after a log-out; `push` closes the page if its session has ended."""
        await self.push(_nothing)


def _run(work: Callable[..., T], *args: Any) -> Callable[[], Awaitable[T]]:
    return functools.partial(pool.run, work, *args)


def _rendered(
    wanted: tuple[Render, tuple[Hashable, ...]], session_keys: Sequence[str]
) -> list[str | Exception | None]:
    """Render for each session; None for sessions that have ended."""
    render, args = wanted
    users = users_of(session_keys)
    languages = languages_of({user.pk for user in users.values()})
    standings = standings_of({user.pk for user in users.values()})
    # Pages share only fragments in one language.
    shared = {
        language: BatchCache(standings.values()) for language in languages.values()
    }

    def rendered(viewer: Standing, language: str) -> str:
        with override(language):
            return shared[language].once(
                ("person", viewer.pk), lambda: render(viewer, shared[language], *args)
            )

    def for_page(key: str) -> str | Exception | None:
        user = users.get(key)
        try:
            return (
                None
                if user is None
                else rendered(standings[user.pk], languages[user.pk])
            )
        except Exception as error:
            # An error on one page must not affect the others.
            return error

    return [for_page(key) for key in session_keys]


_pages = BatchReader(_rendered)


def _nothing(user: User, shared: BatchCache) -> str:
    return ""


def _live_mark(*, live: bool) -> str:
    return render_to_string("_live_mark.html", {"live": live})


class DeskConsumer(LiveConsumer):
    """The pages of one request or workflow."""

    def groups_for(self, viewer: Standing) -> list[str]:
        return [
            doorbell.user_group(viewer.pk),
            *([doorbell.DESK] if permissions.sees_more_than_own(viewer) else []),
        ]

    def catch_up(self, viewer: Standing, shared: BatchCache) -> str:
        since = parse_since(self.scope["query_string"])
        if since is None:
            return ""
        missed = list(queries.changed_since(viewer, since)[: CATCH_UP + 1])
        touched = assignee.render_missed(viewer, since, limit=CATCH_UP)
        if len(missed) > CATCH_UP or touched is None:
            return render_to_string("approvals/_outdated.html")
        changed = [_changed(viewer, shared, request) for request in missed]
        over = list(
            queries.ended_workflows_for(viewer).filter(ended_at__gte=since)[:CATCH_UP]
        )
        changed += [_state(workflow) for workflow in reversed(over)]
        results = render_results([*missed, *reported_since(viewer, since)[:CATCH_UP]])
        return (
            "".join(changed)
            + results
            + touched
            + (render_counts(viewer, shared) if changed else "")
        )

    async def workflow_changed(self, event: dict[str, Any]) -> None:
        """Push a request that was created or decided, or a workflow that ended."""
        await self.push(_workflow_changed, event["workflow"], event["request"])

    async def absence_changed(self, event: dict[str, Any]) -> None:
        """Push the requests that someone now may, or no longer may, decide because a person went away or returned."""
        await self.push(_absence_changed, event["person"])


def parse_since(query: bytes) -> datetime | None:
    """Parse the time when the page was rendered, `since=<Unix time in seconds>`; None if it is missing or invalid."""
    sent = parse_qs(query.decode("ascii", "replace")).get("since", [""])[0]
    seconds = number_from(sent, digits=11)
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None


def _workflow_changed(
    viewer: Standing, shared: BatchCache, workflow_pk: int, request_id: str
) -> str:
    request = visible_request(viewer, shared, request_id) if request_id else None
    if request is not None:
        named = named_in(request)
        concerned = {request.requested_by_id, request.assigned_to_id}

        def changed() -> str:
            result = shared.once(
                ("result", visibility_key(viewer)), lambda: render_results([request])
            )
            card = _changed(viewer, shared, request) + _state(request.workflow)
            return card + result + render_counts(viewer, shared, concerned)

        if request.takes_votes:
            # The wanted voters differ by person.
            named |= {viewer.pk}
        key = (
            "viewer",
            viewer_key(viewer, named),
            card_for(viewer, request).may_reveal,
        )
        return shared.once(key, changed)
    cache_key = ("workflow", visibility_key(viewer))
    workflow = shared.once(
        cache_key, lambda: queries.workflows_for(viewer).filter(pk=workflow_pk).first()
    )
    if workflow is None:
        return ""
    return shared.once("ended", lambda: _state(workflow)) + render_counts(
        viewer, shared, {workflow.owner_id}
    )


def _absence_changed(viewer: Standing, shared: BatchCache, absent: int) -> str:
    requests = absence.requests_of_absent(absent, shared, limit=CATCH_UP)
    if requests is None:
        return render_to_string("approvals/_outdated.html")
    return "".join(
        absence.render_card(viewer, request) for request in requests
    ) + render_counts(viewer, shared)


def _state(workflow: Workflow) -> str:
    return render_to_string("approvals/workflows/_push.html", {"workflow": workflow})


def _changed(viewer: Standing, shared: BatchCache, request: ApprovalRequest) -> str:
    """Render the request's card."""
    card = card_for(viewer, request)
    return shared.once(
        ("changed", card.render_key),
        lambda: render_to_string("approvals/request/_push.html", {"card": card}),
    )


def render_counts(
    viewer: Standing,
    shared: BatchCache,
    concerned: Collection[int | None] | None = None,
) -> str:
    """Render the counts of the tabs; "" if they cannot have changed for this person.

    For deciders they always may have; for others, if they are among `concerned` (None: everyone).
    """
    if (
        concerned is not None
        and viewer.pk not in concerned
        and DECIDE not in viewer.rights
    ):
        return ""
    counts = tab_counts(viewer, shared)
    return shared.once(
        tuple(counts.items()),
        lambda: render_to_string("approvals/dashboard/_counts.html", counts),
    )
