"""Times in few characters, in the time zone of who reads them."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _


def short_time(when: datetime, *, exact: bool = False) -> str:
    """Return a day with its hour, such as “Nov 24, 14:00”; with the year if it is another one.

    If it is to be exact, with the year and with the seconds if there are some.
    """
    local = timezone.localtime(when)
    day = date_format(local, _("M j, Y") if exact or local.year != timezone.localdate().year else _("M j"))
    return f"{day}, {local:%H:%M:%S}" if exact and local.second else f"{day}, {local:%H:%M}"


def clock_time(when: datetime) -> str:
    """Return the time of a moment of today, such as “14:00”, and of another day with the day."""
    local = timezone.localtime(when)
    return f"{local:%H:%M}" if local.date() == timezone.localdate() else short_time(when)
