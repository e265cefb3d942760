"""Webhooks go to public addresses only, however an address is written."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals import addresses
from approvals.addresses import Destination, RefusedAddress, parse_destination

NEVER = [
    "0.0.0.0",  # noqa: S104 - never called, which is the point
    "0.1.2.3",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
]
INSIDE = ["10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "172.16.0.1", "172.31.255.255", "192.168.1.1",
          "::1", "fc00::1", "fdab:cdef::1"]  # fmt: skip
PUBLIC = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.1.1", "2606:4700:4700::1111", "2a00:1450::1"]


def may(address: str, *, allow_private: bool) -> bool:
    try:
        addresses.check_address(ipaddress.ip_address(address), allow_private=allow_private)
    except RefusedAddress:
        return False
    return True


def test_which_addresses_may_be_called():
    everybody = [*NEVER, *INSIDE, *PUBLIC]
    assert [address for address in everybody if may(address, allow_private=False)] == PUBLIC
    assert [address for address in everybody if may(address, allow_private=True)] == [*INSIDE, *PUBLIC]


@given(st.ip_addresses())
def test_an_address_that_is_not_global_is_never_called(address):
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        assert not may(str(address), allow_private=False)


@given(st.ip_addresses(v=4))
def test_no_private_ipv4_address_is_reached_through_ipv6(address):
    number = int(address)
    dresses = [
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address(number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),
    ]
    allowed = [dress for dress in dresses if may(str(dress), allow_private=True)]
    assert [dress for dress in allowed if dress != ipaddress.IPv6Address("::1")] == []


@given(st.ip_addresses())
def test_an_address_written_as_a_number_is_checked_before_anything_is_sent(address):
    host = f"[{address}]" if address.version == 6 else str(address)
    try:
        found = parse_destination(f"https://{host}/")
    except RefusedAddress:
        assert not may(str(address), allow_private=False)
    else:
        assert (may(str(address), allow_private=False), found.host) == (True, str(address))


@given(st.text(max_size=80) | st.from_regex(r"https?://[^/]{0,30}(/.{0,20})?", fullmatch=True))
def test_any_text_is_an_address_or_is_refused(url):
    try:
        found = parse_destination(url, allow_private=True)
    except RefusedAddress:
        return
    assert (found.scheme in {"http", "https"}, 1 <= found.port <= 65535, found.path[0]) == (True, True, "/")
    assert not any(char in found.authority + found.path for char in "\r\n \t\x00")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must be a URL of at most 500 ASCII characters"),
        ("https://app.example.org/" + "a" * 500, "must be a URL of at most 500 ASCII characters"),
        ("https://app.example.org/a b", "without spaces"),
        ("https://app.example.org/\r\nHost: evil", "without spaces"),
        ("https://bücher.example/", "ASCII characters"),
        ("https://app.example.org\\@evil.example/", "ASCII characters"),
        ("ftp://app.example.org/", "must be a URL such as https://"),
        ("file:///etc/passwd", "must be a URL such as https://"),
        ("//app.example.org/", "must be a URL such as https://"),
        ("https://", "must be a URL such as https://"),
        ("http://app.example.org/", "must start with https://"),
        ("https://user:pass@app.example.org/", "must not contain a username"),
        ("https://app.example.org@evil.example/", "must not contain a username"),
        ("https://app.example.org/#here", "#fragment"),
        ("https://app.example.org:0/", "has a host that cannot be found"),
        ("https://app.example.org:99999/", "is not a valid URL"),
        ("https://[::1/", "is not a valid URL"),
        ("https://[fe80::1%25eth0]/", "has a host that cannot be found"),
        ("https://exa%6dple.org/", "has a host that cannot be found"),
        ("https://127.0.0.1/", "points to 127.0.0.1, which is in a private network"),
        ("https://[::1]:8443/", "points to ::1, which is in a private network"),
        ("https://169.254.169.254/latest/meta-data/", "which Pausepoint never calls"),
    ],
)
def test_a_bad_address_is_refused_with_a_reason(url, words):
    with pytest.raises(RefusedAddress, match=words.replace("[", r"\[")):
        parse_destination(url)


def test_an_address_is_parsed():
    assert parse_destination("https://App.Example.org?a=b&c") == Destination("https", "app.example.org", 443, "/?a=b&c")
    assert [
        parse_destination(url, allow_private=True).authority
        for url in ("https://a.example/x", "https://a.example:8443/x", "http://[::1]/", "http://[::1]:8080/")
    ] == ["a.example", "a.example:8443", "[::1]", "[::1]:8080"]


@pytest.mark.parametrize("name", ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "localhost"])
def test_other_spellings_of_localhost_are_refused(name):
    to = parse_destination(f"https://{name}/")
    with pytest.raises(RefusedAddress, match="which is in a private network"):
        addresses.resolve(to.host, to.port, allow_private=False, seconds=60)
    found = addresses.resolve(to.host, to.port, allow_private=True, seconds=60)
    assert all(address.is_loopback for address in found)


def names(monkeypatch: pytest.MonkeyPatch, *found: str) -> list[str]:
    """A name server that resolves every name to these addresses."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_name_with_one_bad_address_is_refused(monkeypatch):
    asked = names(monkeypatch, "8.8.8.8", "10.0.0.1")
    with pytest.raises(RefusedAddress, match=r"10\.0\.0\.1"):
        addresses.resolve("app.example.org", 443, allow_private=False, seconds=60)
    assert asked == ["app.example.org"]


def test_a_link_local_address_with_a_zone_is_refused(monkeypatch):
    names(monkeypatch, "fe80::1%eth0")
    with pytest.raises(RefusedAddress, match="not on the internet"):
        addresses.resolve("app.example.org", 443, allow_private=True, seconds=60)
