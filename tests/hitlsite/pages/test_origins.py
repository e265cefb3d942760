"""WebSockets are accepted only from pages of the same scheme, host and port."""

from __future__ import annotations

import pytest

from hitlsite.server.origins import is_same_origin


def scope(origin: str | None, host: str = "desk.example.org", **more) -> dict:
    headers = [(b"host", host.encode()), *([] if origin is None else [(b"origin", origin.encode("latin-1"))])]
    return {"type": "websocket", "path": "/ws/desk/", "scheme": "ws", "headers": headers, "query_string": b"", **more}


@pytest.fixture(autouse=True)
def _site(settings):
    settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["desk.example.org"], []


@pytest.mark.parametrize(
    ("host", "origin"),
    [("desk.example.org", "http://desk.example.org"), ("desk.example.org:8000", "http://desk.example.org:8000")],
)
def test_a_page_of_this_site_is_accepted(host, origin):
    assert is_same_origin(scope(origin, host))


@pytest.mark.parametrize(
    "origin",
    [
        "http://desk.example.org:9000",
        "https://desk.example.org",
        "http://evil.example",
        "http://desk.example.org.evil.example",
        "http://sub.desk.example.org",
        "http://[desk.example.org",
        "ftp://desk.example.org",
        "desk.example.org",
        "null",
        "",
        "\xff",
        None,
    ],
)
def test_a_page_of_another_origin_is_refused(origin):
    assert not is_same_origin(scope(origin))


def test_a_page_on_another_port_is_refused():
    assert is_same_origin(scope("http://desk.example.org:8000", "desk.example.org:8000"))
    assert not is_same_origin(scope("http://desk.example.org", "desk.example.org:8000"))
    assert not is_same_origin(scope("http://desk.example.org:8001", "desk.example.org:8000"))


def test_a_foreign_host_name_is_refused():
    assert not is_same_origin(scope("http://evil.example", "evil.example"))


def test_behind_a_tls_proxy_its_forwarded_scheme_counts(settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    asked = scope("https://desk.example.org")
    assert not is_same_origin(asked)
    asked["headers"].append((b"x-forwarded-proto", b"https"))
    assert is_same_origin(asked)
    assert is_same_origin(scope("https://desk.example.org", scheme="wss"))


def test_trusted_origins_are_accepted(settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://desk.example.org", "https://*.shop.example"]
    assert is_same_origin(scope("https://desk.example.org"))
    assert is_same_origin(scope("https://eu.shop.example"))
    assert not is_same_origin(scope("http://eu.shop.example"))


def test_an_invalid_query_string_changes_nothing():
    assert is_same_origin(scope("http://desk.example.org", query_string=b"\xff=1"))
