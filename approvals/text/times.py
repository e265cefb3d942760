"""Short times, in the reader's time zone."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.text.numbers import grouped


def short_time(when: datetime, *, exact: bool = False) -> str:
    """Return a day and time, such as “Nov 24, 14:00”; with the year if it is not the current one.

    With `exact`, always with the year, and with the seconds if there are any.
    """
    local = timezone.localtime(when)
    day = date_format(
        local,
        _("M j, Y") if exact or local.year != timezone.localdate().year else _("M j"),
    )
    return (
        f"{day}, {local:%H:%M:%S}"
        if exact and local.second
        else f"{day}, {local:%H:%M}"
    )


def clock_time(when: datetime) -> str:
    """Return the time of day, such as “14:00”; with the day if it is not today."""
    local = timezone.localtime(when)
    return (
        f"{local:%H:%M}" if local.date() == timezone.localdate() else short_time(when)
    )


def relative_time(when: datetime) -> str:
    """Return a moment relative to now, such as “in 50 minutes”, in the script's words, so that nothing moves when it takes over.

    They are those of a browser's `Intl.RelativeTimeFormat`, which `static/pausepoint/times.js` keeps up to date.
    """
    now = timezone.now()
    seconds = (when - now).total_seconds()
    if abs(seconds) >= 86400:
        # In calendar days: 25 hours from now may be the day after tomorrow.
        return _days((timezone.localdate(when) - timezone.localdate(now)).days)
    if -10 < seconds <= 0:
        return _("just now")
    if abs(seconds) < 60:
        return _seconds(int(seconds))
    # 89 minutes are not “in 1 hour”.
    return (
        _hours(int(seconds / 3600))
        if seconds >= 7200 or seconds <= -3600
        else _minutes(int(seconds / 60))
    )


def _days(days: int) -> str:
    if abs(days) < 2:
        return _("tomorrow") if days > 0 else _("yesterday")
    if days < 0:
        return ngettext("%(count)s day ago", "%(count)s days ago", -days) % {
            "count": grouped(-days)
        }
    return ngettext("in %(count)s day", "in %(count)s days", days) % {
        "count": grouped(days)
    }


def _hours(hours: int) -> str:
    if hours < 0:
        return ngettext("%(count)s hour ago", "%(count)s hours ago", -hours) % {
            "count": -hours
        }
    return ngettext("in %(count)s hour", "in %(count)s hours", hours) % {"count": hours}


def _minutes(minutes: int) -> str:
    if minutes < 0:
        return ngettext("%(count)s minute ago", "%(count)s minutes ago", -minutes) % {
            "count": -minutes
        }
    return ngettext("in %(count)s minute", "in %(count)s minutes", minutes) % {
        "count": minutes
    }


def _seconds(seconds: int) -> str:
    if seconds < 0:
        return ngettext("%(count)s second ago", "%(count)s seconds ago", -seconds) % {
            "count": -seconds
        }
    return ngettext("in %(count)s second", "in %(count)s seconds", seconds) % {
        "count": seconds
    }
