"""How often a caller may do something: a minute's worth at once, and from then on as fast as that comes back.

Counted in the memory of this process: a call costs no statement and no round trip, a restart forgets, and with N web
processes a caller gets at most N times as much. It stops programs that run wild; it is no bill.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from ipaddress import ip_address, ip_network
from time import monotonic

from django.conf import settings
from django.http import HttpRequest

from approvals.exceptions import TooMany

WINDOW = 60.0
#: Callers that are remembered; of more, those that were away the longest are forgotten first.
REMEMBERED = 10_000


class Limit:
    """Counts one kind of call (GCRA: of each caller one number is kept, the time at which all it did is made up for)."""

    def __init__(self) -> None:
        self._made_up: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, who: str, a_minute: int) -> None:
        """Count one more call. TooMany if that is too much, which does not count; 0 a minute is no limit."""
        if not a_minute:
            return
        now, each = monotonic(), WINDOW / a_minute
        with self._lock:
            made_up = max(self._made_up.get(who, now), now) + each
            wait = made_up - now - WINDOW
            # Floats add up to a little more than their sum.
            if wait > min(each / 2, 0.001):
                raise TooMany(math.ceil(wait))
            self._made_up[who] = made_up
            self._made_up.move_to_end(who)
            if len(self._made_up) > REMEMBERED:
                self._made_up.popitem(last=False)


asks = Limit()
wrong_keys = Limit()


def address_of(request: HttpRequest) -> str:
    """Where a request comes from, as the proxies in front say that we trust; of IPv6 the network that one customer has."""
    found = request.META.get("REMOTE_ADDR", "")
    # Each proxy adds whom it was called by at the end; what stands before that is the client's to invent.
    forwarded = [each.strip() for each in request.headers.get("X-Forwarded-For", "").split(",")]
    if 0 < settings.TRUSTED_PROXIES <= len(forwarded):
        found = forwarded[-settings.TRUSTED_PROXIES] or found
    try:
        address = ip_address(found)
    except ValueError:
        return ""
    return str(address if address.version == 4 else address.ipv4_mapped or ip_network((address, 64), strict=False))
