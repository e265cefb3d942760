"""What happens to requests, as it happens: Server-Sent Events in AgentForge's shapes.

A follower holds no thread and no database connection. Who it is is looked up anew for every reading, so a revoked key, an
old token or a closed session gets nothing more.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from approvals.access import callers, permissions
from approvals.access.callers import Caller
from approvals.api import agentforge, feed, followers
from approvals.asking.asks import MAX_LENGTHS
from approvals.exceptions import Invalid, NotAllowed
from approvals.http import endpoint
from approvals.live import doorbell, sse
from approvals.live.streaming import handed_over
from approvals.runtime.canonical import NotCanonical, canonical
from approvals.runtime.translation import translated

MAX_THREAD = MAX_LENGTHS["tool_call_id"]


@endpoint("GET")
def follow(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Events from now on, or behind `Last-Event-ID` (or `?after=`, for a first connection); of one `?thread=`."""
    caller.need("read")
    thread = thread_of(request)
    if caller.thread is not None and thread not in {"", caller.thread}:
        raise NotAllowed(_("A client token only works for its own thread. Leave out `thread`, or use an API key."))
    cursor = feed.start(request.headers.get("Last-Event-ID", "") or request.GET.get("after", ""))
    if request.method == "HEAD":
        return HttpResponse(content_type=sse.CONTENT_TYPE, headers=sse.HEADERS)
    groups = [
        doorbell.user_group(caller.user.pk),
        *([doorbell.DESK] if permissions.sees_everything(caller.user) else []),
    ]
    events = followers.follow(callers.credentials_of(request), groups, thread, cursor)
    pieces = sse.kept_alive(events, beat=agentforge.HEARTBEAT)
    return handed_over(request, pieces, content_type=sse.CONTENT_TYPE, headers=sse.HEADERS)


def thread_of(request: HttpRequest) -> str:
    """`?thread=`, or "". Invalid for what can be no thread's id."""
    thread = request.GET.get("thread", "")
    try:
        canonical(thread)
    except NotCanonical as error:
        raise Invalid(_("The thread is invalid."), {"thread": translated(error)}) from error
    if len(thread) > MAX_THREAD:
        raise Invalid(
            _("The thread is invalid."), {"thread": _("is longer than %(limit)s characters") % {"limit": MAX_THREAD}}
        )
    return thread
