"""Every refusal, without DEBUG and behind a proxy: its status, a small answer, and a line of log at most."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.db import OperationalError, connection
from django.test import Client
from django.utils.module_loading import import_string

from tests.support.people import alice

#: Bytes of an answer; a page with the whole navigation of a person is larger than one for everybody.
LARGEST = 24_000
AUDIENCES = {
    "a browser": {"Accept": "text/html,*/*;q=0.8"},
    "htmx": {"Accept": "text/html,*/*;q=0.8", "HX-Request": "true"},
    "a program": {"Accept": "application/json"},
}
PROXY = {
    "Host": "desk.example.org",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "192.0.2.7",
    "Origin": "https://desk.example.org",
}


def away(*_: Any) -> None:
    raise OperationalError("server closed the connection")


def with_outage(client: Client) -> Any:
    client.cookies["sessionid"] = "a" * 32
    with connection.execute_wrapper(away):
        return client.get("/requests/")


def many_fields(client: Client) -> Any:
    return client.post(
        "/login/", {f"field{number}": "" for number in range(site_settings.DATA_UPLOAD_MAX_NUMBER_FIELDS + 1)}
    )


def large_fields(client: Client) -> Any:
    return client.post("/login/", {"username": "x" * 3_000_000})


def multipart(body: bytes, boundary: str = "x") -> Callable[[Client], Any]:
    kind = f"multipart/form-data; boundary={boundary}"
    return lambda client: client.post("/login/", body, content_type=kind)


def file_named(name: str) -> Callable[[Client], Any]:
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\ntext\r\n--x--\r\n'
    return multipart(head.encode())


#: The path, and its status for a logged-in person and for a stranger.
REFUSALS: dict[str, tuple[Callable[[Client], Any], int, int]] = {
    "an unknown host": (lambda client: client.get("/", headers={"Host": "evil.example"}), 400, 400),
    "an unknown host of the API": (lambda client: client.get("/api/v1/me", headers={"Host": "evil.example"}), 400, 400),
    "an impossible host": (lambda client: client.get("/", headers={"Host": "a_b:c/d"}), 400, 400),
    "a host behind the proxy that nobody knows": (
        lambda client: client.post("/login/", headers={"Host": "x y"}),
        400,
        400,
    ),
    "no token of a form": (lambda client: client.post("/chats/new/"), 403, 403),
    "another origin": (lambda client: client.post("/login/", headers={"Origin": "http://[evil"}), 403, 403),
    "too many fields": (many_fields, 400, 400),
    "fields that are too large": (large_fields, 400, 400),
    "a form that ends early": (multipart(b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n"), 403, 403),
    "a form without a boundary": (multipart(b"text", ""), 400, 400),
    "a form with an odd boundary": (multipart(b"text", "\x01"), 400, 400),
    "a file with no name but dots": (file_named(".."), 403, 403),
    "a file from elsewhere": (file_named("../../etc/passwd"), 403, 403),
    "a page that is not there": (lambda client: client.get("/absent/"), 404, 302),
    "an address with a line break": (lambda client: client.get("/absent%0aERROR approvals: forged"), 404, 302),
    "an address with a NUL": (lambda client: client.get("/requests/%00/"), 404, 302),
    "a path out of the static files": (lambda client: client.get("/static/../../../etc/passwd"), 404, 302),
    "a page of administrators": (lambda client: client.get("/admin/login/"), 403, 302),
    "a method of forms only": (lambda client: client.get("/logout/"), 405, 302),
    "an outage of the database": (with_outage, 503, 503),
}


@pytest.fixture
def behind_a_proxy(settings):
    settings.DEBUG = False
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    settings.TRUSTED_PROXIES = 1
    settings.ALLOWED_HOSTS = ["desk.example.org"]


@pytest.fixture
def log():
    """The lines that the site writes to its log, formatted."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    formatter = site_settings.LOGGING["formatters"]["line"]
    handler.setFormatter(import_string(formatter["()"])(formatter["fmt"]))
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


@pytest.mark.django_db
@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("known", [True, False], ids=["logged in", "a stranger"])
def test_every_refusal_is_small_and_a_line_of_log_at_most(log, audience, known):
    person, wrong = alice(), {}
    for name, (send, status, status_of_stranger) in REFUSALS.items():
        client = Client(enforce_csrf_checks=True, raise_request_exception=False, headers=AUDIENCES[audience] | PROXY)
        client.cookies["csrftoken"] = "c" * 32
        if known:
            client.force_login(person)
        log.seek(0)
        log.truncate()
        answer = send(client)
        # htmx is told to load the log-in page.
        expected = {status} if known else {status_of_stranger, 401 if status_of_stranger == 302 else status_of_stranger}
        lines = log.getvalue().splitlines()
        if answer.status_code not in expected or len(answer.content) > LARGEST or len(lines) > 1:
            wrong[name] = (answer.status_code, expected, len(answer.content), lines[:3], len(log.getvalue()))
    assert not wrong, "\n".join(map(str, wrong.items()))


@pytest.mark.usefixtures("behind_a_proxy")
@pytest.mark.parametrize("proto", ["https", "http", ""])
def test_an_unknown_host_gets_a_page_in_words_without_the_database(log, proto):
    headers = {"Host": "evil.example", "X-Forwarded-Proto": proto, "Accept": "text/html", "Cookie": "sessionid=abc"}
    answer = Client(raise_request_exception=False, headers=headers).get("/")
    assert (answer.status_code, answer.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "The request is invalid." in answer.text
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=(), " in answer.headers["Permissions-Policy"]
    (line,) = log.getvalue().splitlines()
    assert "ERROR django.security.DisallowedHost: Invalid HTTP_HOST header: 'evil.example'." in line
