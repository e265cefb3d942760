"""Stream requests and their ends as Server-Sent Events in AgentForge's format.

A follower holds no thread and no database connection. Its credentials are checked at every read, so nothing more is sent after a
key is revoked, a token expires or a session ends.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.access import callers, permissions
from approvals.access.callers import Caller
from approvals.api.agentforge import encode, feed, followers
from approvals.api.frame import CONFINED, endpoint, reaches, thread_of
from approvals.exceptions import NotAllowed
from approvals.live import doorbell, sse
from approvals.live.streaming import streamed_response


@endpoint("GET", "read", tokens=CONFINED)
def follow(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Stream events from now on, or after `Last-Event-ID` (`?after=` for a first connection); `?thread=` selects one thread."""
    thread = thread_of(request)
    if thread and not reaches(caller, thread):
        raise NotAllowed(
            _(
                "A client token only works for its own thread. Leave out `thread`, or use an API key."
            )
        )
    cursor = feed.start_cursor(
        request.headers.get("Last-Event-ID", "") or request.GET.get("after", "")
    )
    if request.method == "HEAD":
        return HttpResponse(content_type=sse.CONTENT_TYPE, headers=sse.HEADERS)
    groups = [
        doorbell.user_group(caller.user.pk),
        *([doorbell.DESK] if permissions.sees_more_than_own(caller.standing) else []),
    ]
    events = followers.follow(callers.credentials_of(request), groups, thread, cursor)
    pieces = sse.with_keep_alive(events, beat=encode.HEARTBEAT)
    return streamed_response(
        request, pieces, content_type=sse.CONTENT_TYPE, headers=sse.HEADERS
    )
