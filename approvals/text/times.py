"""Times in few characters, in the time zone of who reads them."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _


def short_time(when: datetime) -> str:
    """Return a day with its hour, such as “Nov 24, 14:00”; with the year if it is another one."""
    local = timezone.localtime(when)
    day = date_format(local, _("M j") if local.year == timezone.localdate().year else _("M j, Y"))
    return f"{day}, {local:%H:%M}"
