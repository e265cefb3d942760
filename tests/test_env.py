"""The environment is read strictly: an odd value is refused, and the refusal names the variable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from hitlsite import env

ROOT = Path(__file__).resolve().parent.parent


URLS = "Use sqlite:///path/to/file.db or postgresql://user:password@host:5432/name."


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, None),
        ("", None),
        (" ", None),
        *((word, True) for word in ("1", "true", "YES", " on ")),
        *((word, False) for word in ("0", "False", "no", "off")),
    ],
)
def test_a_yes_or_no_is_read_and_unset_is_the_default(monkeypatch, value, found):
    monkeypatch.delenv("SWITCH", raising=False)
    if value is not None:
        monkeypatch.setenv("SWITCH", value)
    expected = [True, False] if found is None else [found, found]
    assert [env.boolean("SWITCH", default=default) for default in (True, False)] == expected


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (lambda: env.boolean("NAME", default=False), "maybe", "NAME='maybe' is not a yes or no. Use 1 or 0."),
        (lambda: env.boolean("NAME", default=False), "2", "NAME='2' is not a yes or no. Use 1 or 0."),
        (lambda: env.choice("NAME", {"b", "a"}), "c", "NAME='c' is not known. Use one of: a, b."),
        (
            lambda: env.origins("NAME"),
            "https://a.example, b.example",
            "NAME: 'b.example' is not an origin. Write it like https://desk.example.org.",
        ),
        (
            lambda: env.origins("NAME"),
            "https://a.example/path",
            "NAME: 'https://a.example/path' is not an origin. Write it like https://desk.example.org.",
        ),
        (
            lambda: env.origins("NAME"),
            "ftp://a.example",
            "NAME: 'ftp://a.example' is not an origin. Write it like https://desk.example.org.",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "mysql://db",
            f"NAME is not understood. {URLS}",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "sqlite:///",
            f"NAME is not understood. {URLS}",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "postgresql://db.example/",
            "NAME names no database. Write it like postgresql://user:password@host:5432/name.",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "postgresql://db.example:many/desk",
            "NAME: Port could not be cast to integer value as 'many'.",
        ),
    ],
)
def test_an_odd_value_is_refused_with_the_name_of_its_variable(monkeypatch, read, value, words):
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        read()
    assert str(refusal.value) == words


def test_a_postgresql_server_is_named_by_its_url(monkeypatch):
    monkeypatch.setenv("NAME", "postgresql://desk:p%40ss@db.example:5433/pausepoint?sslmode=require")
    found = env.database("NAME", Path("x"))
    assert [found[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "pausepoint",
        "desk",
        "p@ss",
        "db.example",
        "5433",
    ]
    assert found["OPTIONS"]["sslmode"] == "require"
    monkeypatch.setenv("NAME", "postgres:///desk?host=/run/postgresql")
    assert [env.database("NAME", Path("x"))[name] for name in ("NAME", "USER", "HOST")] == [
        "desk",
        "",
        "/run/postgresql",
    ]


def test_texts_lists_and_paths_are_stripped_and_have_defaults(monkeypatch):
    monkeypatch.setenv("NAME", " a , ,b,")
    assert (env.text("NAME"), env.words("NAME")) == ("a , ,b,", ["a", "b"])
    monkeypatch.setenv("NAME", "https://a.example, http://b.example:8000")
    assert env.origins("NAME") == ["https://a.example", "http://b.example:8000"]
    monkeypatch.setenv("NAME", " , ")
    assert env.words("NAME", default=("x",)) == ["x"]
    monkeypatch.setenv("NAME", "sqlite:////var/lib/desk.db")
    assert env.database("NAME", Path("x"))["NAME"] == Path("/var/lib/desk.db")
    monkeypatch.setenv("NAME", "")
    assert (env.text("NAME", "x"), env.words("NAME", ("x",)), env.choice("NAME", {"a"}, "a")) == ("x", ["x"], "a")
    assert (env.origins("NAME"), env.database("NAME", Path("x"))["NAME"]) == ([], Path("x"))


#: Too short by one character; and long, of too few different ones.
WEAK = ["0123456789abcdef0123456789abcde", "x" * 60, "abcdefg" * 10]


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check` with this environment and nothing else."""
    clean = {"PATH": os.environ["PATH"]} | environment
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "SECRET_KEY is not set. Set it to a long random text, or DEBUG=1 for a trial on this machine."),
        ({"DEBUG": "0", "SECRET_KEY": " "}, "SECRET_KEY is not set. Set it to a long random text"),
        *(({"SECRET_KEY": weak}, "SECRET_KEY is too easy to guess: use at least 32 characters") for weak in WEAK),
        ({"DEBUG": "perhaps"}, "DEBUG='perhaps' is not a yes or no. Use 1 or 0."),
        ({"DEBUG": "1", "HITL_PROVIDER": "oracle"}, "HITL_PROVIDER='oracle' is not known."),
        ({"DEBUG": "1", "DATABASE_URL": "oracle://db"}, "DATABASE_URL is not understood. "),
    ],
)
def test_the_site_refuses_to_start_and_its_last_line_says_why(environment, words):
    refused = check(**environment)
    assert (refused.returncode != 0, refused.stdout) == (True, "")
    assert words in refused.stderr.strip().splitlines()[-1]


def test_a_long_random_key_is_taken():
    started = check(SECRET_KEY="0123456789abcdef0123456789abcdef", HITL_PROVIDER="scripted")
    assert (started.returncode, "SECRET_KEY" in started.stderr) == (0, False)


def test_a_trial_needs_nothing_but_debug():
    started = check(DEBUG="1")
    assert (started.returncode, started.stdout) == (0, "System check identified no issues (0 silenced).\n")
