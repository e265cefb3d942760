"""A site's log in production: our own errors with their traceback, once; errors of clients in one line at most."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.support.processes.server import PATIENCE, environment
from tests.support.processes.starting import SetUp

LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (\w+) ([\w.]+): (.*)$", re.MULTILINE)
ASKED = """
import warnings; warnings.simplefilter("ignore")
import logging
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import SuspiciousOperation
from django.db import OperationalError
from django.http import Http404
from django.test import Client
from django.urls import path
from hitlsite import urls

ERRORS = {"mistake": ZeroDivisionError("a mistake"), "away": OperationalError("no answer"),
          "odd": SuspiciousOperation("odd"), "gone": Http404()}

@login_not_required
def raising(request, what):
    raise ERRORS[what]

for below in ("", "api/v1/"):
    urls.urlpatterns.insert(0, path(f"{below}raise/<str:what>/", raising))
client = Client(raise_request_exception=False, enforce_csrf_checks=True, headers={"Accept": "application/json"})
"""


class Database:
    url = "sqlite:///:memory:"


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> Iterator[Callable[[str], tuple[str, str]]]:
    """A function that runs a script in production and returns its output and logs."""
    env = environment(Database(), DEBUG="0", ALLOWED_HOSTS="testserver", SECRET_KEY="0123456789abcdef" * 4)  # type: ignore[arg-type]
    site = SetUp(env, tmp_path_factory.mktemp("site") / "set-up.log")

    def run(script: str) -> tuple[str, str]:
        done = site.run(ASKED + script, PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    yield run
    site.end()


def test_an_error_of_ours_is_logged_once_with_its_traceback_as_its_answer_says(said):
    answer, log = said('found = client.get("/raise/mistake/"); print(found.status_code, found.content.decode())')
    assert (answer[:3], "The error was logged" in answer) == ("500", True)
    assert LINE.findall(log) == [("ERROR", "django.request", "Internal Server Error: /raise/mistake/")]
    assert log.count("ZeroDivisionError: a mistake") == log.count("Traceback") == 1


def test_with_debug_a_program_gets_a_problem_document_for_an_error_of_ours_and_the_log_its_traceback(said):
    answer, log = said(
        'settings.DEBUG = True; found = client.get("/api/v1/raise/mistake/"); '
        'print(found.status_code, found.headers["content-type"], found.json()["code"])'
    )
    assert answer == "500 application/problem+json internal_server_error\n"
    assert LINE.findall(log) == [("ERROR", "django.request", "Internal Server Error: /api/v1/raise/mistake/")]
    assert log.count("ZeroDivisionError: a mistake") == log.count("Traceback") == 1


@pytest.mark.parametrize(
    ("ask", "status", "lines"),
    [
        ('get("/raise/gone/")', 404, []),
        ('post("/raise/away/")', 403, [("WARNING", "django.security.csrf")]),
        ('get("/raise/odd/")', 400, [("ERROR", "django.security.SuspiciousOperation")]),
        ('get("/raise/odd/", HTTP_HOST="evil.example")', 400, [("ERROR", "django.security.DisallowedHost")]),
        ('get("/raise/away/")', 503, [("WARNING", "hitlsite.server.outages")]),
    ],
    ids=["not there", "no form of ours", "suspicious", "another host", "an outage"],
)
def test_what_is_no_mistake_of_ours_is_a_line_at_most(said, ask, status, lines):
    answer, log = said(f"print(client.{ask}.status_code)")
    assert (answer, [line[:2] for line in LINE.findall(log)]) == (f"{status}\n", lines)
    assert len(log.splitlines()) == len(lines)


@pytest.mark.parametrize(
    "name", ["daphne.server", "channels.db", "asyncio", "psycopg.pool", "approvals.background.sweep"]
)
def test_what_libraries_warn_of_is_logged_once_in_the_same_form(said, name):
    _, log = said(f'logging.getLogger({name!r}).warning("took too long"); logging.getLogger("daphne").info("hello")')
    assert LINE.findall(log) == [("WARNING", name, "took too long")]
    assert len(log.splitlines()) == 1
