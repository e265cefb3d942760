"""Where a webhook may go: addresses of the public internet, and of private networks only where the operator says so.

Whoever names an address makes this server call it, from inside the network where the server stands. So the name is
resolved once, every address behind it is checked, and `approvals.outbound.http_post` connects to one of exactly these:
between check and connection no name can change its meaning.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_URL = 500
PORTS = {"https": 443, "http": 80}


def _networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(map(ipaddress.ip_network, text.split()))


#: Refused whatever is allowed: what clouds tell their machines, credentials among it.
METADATA = _networks(
    "169.254.0.0/16 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fd00:ec2::254/128 fd20:ce::254/128"
)
#: One's own machine and network; the one thing that can be allowed.
PRIVATE = _networks("10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7")
#: The rest of what is not a host on the internet (IANA's special-purpose registries). IPv6 that carries an IPv4 address
#: (mapped, 6to4, Teredo, NAT64) is among it: it reaches what that address reaches.
SPECIAL = _networks(
    "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    " 2001::/23 2001:db8::/32 2002::/16 3fff::/20"
)
#: All of IPv6 that has been given to hosts on the internet.
GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")

#: Looking up a name cannot be broken off; a server that does not answer keeps one of these threads and no other.
_resolver = ThreadPoolExecutor(max_workers=8, thread_name_prefix="pausepoint-names")


class Refused(ValueError):
    """The address is none that may be called; the message says why."""


@dataclass(frozen=True, slots=True)
class Destination:
    """An address, taken apart: `path` begins with a slash and holds the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as they stand in a Host header; the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def destination(url: str, *, allow_private: bool = False) -> Destination:
    """The parts of an `https://` address; `http://` only where private networks are allowed. Raises Refused.

    Looks at the text alone; an address written as a number is checked here already, a name when it is called.
    """
    if len(url) > MAX_URL or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        raise Refused(_("must be a URL of at most %(limit)s ASCII characters without spaces") % {"limit": MAX_URL})
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise Refused(_("is not a valid URL: %(error)s") % {"error": error}) from error
    if parts.scheme not in PORTS or not host:
        raise Refused(_("must be a URL such as https://app.example.org/hooks"))
    if parts.scheme == "http" and not allow_private:
        raise Refused(_("must start with https://"))
    if parts.username is not None or parts.password is not None or "#" in url:
        raise Refused(_("must not contain a username, password, or #fragment"))
    if not re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]+", host) or port == 0:
        raise Refused(_("has a host that cannot be found"))
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if ":" in host:
            raise Refused(_("has a host that cannot be found")) from None
    else:
        check(literal, allow_private=allow_private)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme, host, port or PORTS[parts.scheme], path)


def check(address: IPAddress, *, allow_private: bool) -> None:
    """Raise Refused unless a webhook may go to this address."""
    if _in(address, METADATA):
        raise Refused(_("points to %(address)s, which is never called") % {"address": address})
    if _in(address, PRIVATE):
        if not allow_private:
            raise Refused(_("points to %(address)s, which is in a private network") % {"address": address})
        return
    if _in(address, SPECIAL) or (address.version == 6 and address not in GLOBAL_IPV6):
        raise Refused(_("points to %(address)s, which is not on the internet") % {"address": address})


def resolve(host: str, port: int, *, allow_private: bool, seconds: float) -> list[IPAddress]:
    """All addresses of a host, each of them checked. Raises Refused, or OSError where there are none in time."""
    looked_up = _resolver.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = looked_up.result(timeout=seconds)
    except TooSlow:
        looked_up.cancel()
        raise TimeoutError(_("looking up the host %(host)s took too long") % {"host": host}) from None
    except UnicodeError as error:
        raise Refused(_("has a host that cannot be found")) from error
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0])) for entry in found))
    for address in addresses:
        check(address, allow_private=allow_private)
    return addresses


def _in(address: IPAddress, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    return any(address in network for network in networks)
