"""Snooze a request, or show it again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, tzinfo
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals.actions.lists.snoozing import snooze as hide
from approvals.actions.lists.snoozing import unsnooze
from approvals.exceptions import Invalid
from approvals.http import SignedIn, refusals_as_pages, sent_address

MORNING = time(9)
MONDAY = 7
#: The end of each choice, relative to now in the person's time zone; None means until someone replies.
ENDS: dict[str, Callable[[datetime], datetime | None]] = {
    "hour": lambda now: now + timedelta(hours=1),
    "tomorrow": lambda now: _morning(now, 1),
    "week": lambda now: _morning(now, MONDAY - now.weekday()),
    "reply": lambda now: None,
}


@require_POST
@refusals_as_pages
def snooze(request: SignedIn, pk: UUID) -> HttpResponse:
    """Snooze until one of ENDS, or show the request again (`now`)."""
    chosen = request.POST.get("until", "")
    if chosen == "now":
        unsnooze(pk, by=request.user)
    elif chosen in ENDS:
        now = timezone.now().astimezone(_zone(request.POST.get("zone", "")))
        stored = hide(pk, by=request.user, until=ENDS[chosen](now))
        if not request.headers.get("HX-Request"):
            until = timezone.localtime(stored.until, now.tzinfo).strftime(
                "%Y-%m-%d %H:%M"
            )
            messages.info(
                request, _("Snoozed until %(time)s at the latest.") % {"time": until}
            )
    else:
        raise Invalid(
            _("Choose until when to snooze the request."),
            {"until": _("is not one of the choices")},
        )
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    return HttpResponseRedirect(
        sent_address(request, "back") or reverse("approvals:dashboard")
    )


def _morning(now: datetime, days: int) -> datetime:
    return datetime.combine(now.date() + timedelta(days=days), MORNING, now.tzinfo)


def _zone(name: str) -> tzinfo:
    """Return the time zone named by the browser; that of the server without one."""
    try:
        return ZoneInfo(name) if name else timezone.get_current_timezone()
    except (KeyError, ValueError, OSError):
        return UTC
