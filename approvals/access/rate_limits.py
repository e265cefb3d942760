"""Rate limits: a caller may use a minute's share at once, and it refills evenly.

Each process counts in memory, so counting costs no database statement. A restart resets the counters, and with N web
processes a caller gets at most N times the limit.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from functools import lru_cache
from ipaddress import ip_address, ip_network
from time import monotonic

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import ngettext

from approvals.exceptions import Refusal

WINDOW = 60.0
#: Maximum number of callers remembered; the least recent are forgotten first.
REMEMBERED = 10_000


class TooMany(Refusal):
    """The caller exceeds a rate limit and may try again after `seconds`."""

    code = "too_many"
    status = 429

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        message = ngettext(
            "Too many requests. Try again in %(seconds)d second.",
            "Too many requests. Try again in %(seconds)d seconds.",
            seconds,
        )
        super().__init__(message % {"seconds": seconds})

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.seconds)}


class Limit:
    """A limit on one kind of call by GCRA, which stores one number per caller: the time when its share is full again."""

    def __init__(self) -> None:
        self._whole_at: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, who: str, a_minute: int) -> None:
        """Count a call. Raise TooMany if it exceeds the limit; a refused call is not counted. 0 means no limit."""
        if not a_minute:
            return
        now = monotonic()
        each = WINDOW / a_minute
        with self._lock:
            whole_at = max(self._whole_at.get(who, now), now) + each
            wait = whole_at - now - WINDOW
            # Rounding errors add up to less than a millisecond.
            if wait > min(each / 2, 0.001):
                raise TooMany(math.ceil(wait))
            self._whole_at[who] = whole_at
            self._whole_at.move_to_end(who)
            if len(self._whole_at) > REMEMBERED:
                self._whole_at.popitem(last=False)


asks = Limit()
wrong_keys = Limit()


def client_address(request: HttpRequest) -> str:
    """Return the client's address as reported by the trusted proxies, else the peer's; empty if there is none."""
    peer = _address(request.META.get("REMOTE_ADDR", ""))
    # Each trusted proxy appends its client's address; a client can forge everything before that.
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    if 0 < settings.TRUSTED_PROXIES <= len(forwarded):
        return _address(forwarded[-settings.TRUSTED_PROXIES].strip()) or peer
    return peer


@lru_cache(maxsize=1024)
def _address(text: str) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    # Unwrap IPv4 addresses in IPv6 form; otherwise all of them would count as one network.
    return str(getattr(address, "ipv4_mapped", None) or address)


def network_of(address: str) -> str:
    """Return the network of one customer: an IPv4 address, or the /64 network of an IPv6 address."""
    return str(ip_network((address, 64), strict=False)) if ":" in address else address


def count_wrong_key(address: str) -> None:
    """Count one call from this client address against the limit of wrong keys. Raise TooMany."""
    wrong_keys.count(network_of(address), settings.HITL_WRONG_KEYS_PER_MINUTE)
