"""Check the address of a webhook: only the public internet, or private networks where the operator allows them.

Clients choose these addresses, and this server calls them from inside its own network. So the host name is resolved once, every
address behind it is checked, and `approvals.http_post` connects to exactly one of these: DNS cannot change between the
check and the connection.
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


#: Always refused: the metadata services of clouds, which hand out credentials.
METADATA = _networks(
    "169.254.0.0/16 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fd00:ec2::254/128 fd20:ce::254/128"
)
#: This machine and private networks, which the operator may allow.
PRIVATE = _networks(
    "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7"
)
#: Other addresses that are not hosts on the internet (IANA's special-purpose registries). IPv6 addresses that embed an IPv4
#: address (mapped, 6to4, Teredo, NAT64) are included, because they reach that IPv4 address.
SPECIAL = _networks(
    "0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    " 2001::/23 2001:db8::/32 2002::/16 3fff::/20"
)
#: The range of IPv6 that is allocated to hosts on the internet.
GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")

#: A DNS lookup cannot be interrupted, so an unresponsive name server blocks only one of these threads.
_resolver = ThreadPoolExecutor(max_workers=8, thread_name_prefix="pausepoint-names")


class RefusedAddress(ValueError):
    """This address must not be called; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The parts of an address; `path` begins with a slash and includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return host and port for the Host header, without the scheme's default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def parse_destination(url: str, *, allow_private: bool = False) -> Destination:
    """Return the parts of an `https://` address, or `http://` where private networks are allowed.

    Only the text is checked: an IP address here, a host name later in `resolve`. Raise RefusedAddress.
    """
    if len(url) > MAX_URL or not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        raise RefusedAddress(
            _("must be a URL of at most %(limit)s ASCII characters without spaces")
            % {"limit": MAX_URL}
        )
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
    except ValueError as error:
        raise RefusedAddress(
            _("is not a valid URL: %(error)s") % {"error": error}
        ) from error
    if parts.scheme not in PORTS or not host:
        raise RefusedAddress(_("must be a URL such as https://app.example.org/hooks"))
    if parts.scheme == "http" and not allow_private:
        raise RefusedAddress(_("must start with https://"))
    if parts.username is not None or parts.password is not None or "#" in url:
        raise RefusedAddress(_("must not contain a username, password, or #fragment"))
    if not re.fullmatch(r"[a-z0-9._-]+|[0-9a-f:.]+", host) or port == 0:
        raise RefusedAddress(_("has a host that cannot be found"))
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if ":" in host:
            raise RefusedAddress(_("has a host that cannot be found")) from None
    else:
        check_address(literal, allow_private=allow_private)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme, host, port or PORTS[parts.scheme], path)


def check_address(address: IPAddress, *, allow_private: bool) -> None:
    """Raise RefusedAddress unless a webhook may go to this address."""
    if _in(address, METADATA):
        raise RefusedAddress(
            _("points to %(address)s, which Pausepoint never calls")
            % {"address": address}
        )
    if _in(address, PRIVATE):
        if not allow_private:
            raise RefusedAddress(
                _("points to %(address)s, which is in a private network")
                % {"address": address}
            )
        return
    if _in(address, SPECIAL) or (address.version == 6 and address not in GLOBAL_IPV6):
        raise RefusedAddress(
            _("points to %(address)s, which is not on the internet")
            % {"address": address}
        )


def resolve(
    host: str, port: int, *, allow_private: bool, seconds: float
) -> list[IPAddress]:
    """Return all addresses of a host after checking each.

    Raise RefusedAddress, or OSError (TimeoutError after `seconds`) if the lookup fails.
    """
    looked_up = _resolver.submit(
        socket.getaddrinfo, host, port, type=socket.SOCK_STREAM
    )
    try:
        entries = looked_up.result(timeout=seconds)
    except TooSlow:
        looked_up.cancel()
        raise TimeoutError(
            _("looking up the host %(host)s took too long") % {"host": host}
        ) from None
    except UnicodeError as error:
        raise RefusedAddress(_("has a host that cannot be found")) from error
    addresses = list(
        dict.fromkeys(ipaddress.ip_address(str(entry[4][0])) for entry in entries)
    )
    for address in addresses:
        check_address(address, allow_private=allow_private)
    return addresses


def _in(
    address: IPAddress,
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...],
) -> bool:
    return any(address in network for network in networks)
