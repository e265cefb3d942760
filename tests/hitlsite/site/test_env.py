"""Environment variables are parsed strictly: an invalid value is refused with the name of the variable."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from hitlsite import env

URLS = "Set it to sqlite:///path/to/file.db or postgresql://user:password@host:5432/name."


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
def test_a_boolean_is_parsed_and_has_a_default(monkeypatch, value, found):
    monkeypatch.delenv("SWITCH", raising=False)
    if value is not None:
        monkeypatch.setenv("SWITCH", value)
    expected = [True, False] if found is None else [found, found]
    assert [env.boolean("SWITCH", default=default) for default in (True, False)] == expected


@pytest.mark.parametrize(
    ("read", "value", "words"),
    [
        (lambda: env.boolean("NAME", default=False), "maybe", "NAME='maybe' is not valid. Set it to 1 or 0."),
        (lambda: env.boolean("NAME", default=False), "2", "NAME='2' is not valid. Set it to 1 or 0."),
        (lambda: env.choice("NAME", {"b", "a"}), "c", "NAME='c' is not valid. Set it to one of: a, b."),
        (
            lambda: env.origins("NAME"),
            "https://a.example, b.example",
            "NAME: 'b.example' is not an origin. Set it to a URL like https://desk.example.org.",
        ),
        (
            lambda: env.origins("NAME"),
            "https://a.example/path",
            "NAME: 'https://a.example/path' is not an origin. Set it to a URL like https://desk.example.org.",
        ),
        (
            lambda: env.origins("NAME"),
            "ftp://a.example",
            "NAME: 'ftp://a.example' is not an origin. Set it to a URL like https://desk.example.org.",
        ),
        (
            lambda: env.http_url("NAME", "https://api.example/v1"),
            "api.example/v1",
            "NAME is not valid. Set it to a URL like https://api.example/v1.",
        ),
        (
            lambda: env.http_url("NAME", "", example="https://login.example"),
            "login.example",
            "NAME is not valid. Set it to a URL like https://login.example.",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "mysql://db",
            f"NAME is not valid. {URLS}",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "sqlite:///",
            f"NAME is not valid. {URLS}",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "postgresql://db.example/",
            "NAME has no database name. Set it to a URL like postgresql://user:password@host:5432/name.",
        ),
        (
            lambda: env.database("NAME", Path("x")),
            "postgresql://db.example:many/desk",
            "NAME: Port could not be cast to integer value as 'many'.",
        ),
    ],
)
def test_an_invalid_value_is_refused_with_the_name_of_its_variable(monkeypatch, read, value, words):
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        read()
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ("", {"": 336}),
        ("12", {"": 12}),
        ("12, administrator:4,approver:8", {"": 12, "administrator": 4, "approver": 8}),
        ("auditor:1", {"": 336, "auditor": 1}),
    ],
)
def test_a_number_can_have_others_for_roles(monkeypatch, value, numbers):
    monkeypatch.setenv("NAME", value)
    assert env.by_role("NAME", default=336, lowest=1, highest=8760) == numbers


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("root:4", "NAME contains root:4. Use a number, and roles such as administrator:4."),
        ("Administrator:4", "NAME contains Administrator:4. Use a number, and roles such as administrator:4."),
        ("12:4", "NAME contains 12:4. Use a number, and roles such as administrator:4."),
        ("administrator", "NAME='administrator' is not valid. Set it to a whole number from 1 to 8760."),
        ("administrator:", "NAME='' is not valid. Set it to a whole number from 1 to 8760."),
        ("12,auditor:0", "NAME='0' is not valid. Set it to a whole number from 1 to 8760."),
        ("auditor:8761", "NAME='8761' is not valid. Set it to a whole number from 1 to 8760."),
        ("-1", "NAME='-1' is not valid. Set it to a whole number from 1 to 8760."),
    ],
)
def test_an_invalid_number_or_role_is_refused(monkeypatch, value, words):
    monkeypatch.setenv("NAME", value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.by_role("NAME", default=336, lowest=1, highest=8760)
    assert str(refusal.value) == words


def test_a_postgresql_url_is_parsed(monkeypatch):
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
    assert (env.text("NAME"), env.comma_separated("NAME")) == ("a , ,b,", ["a", "b"])
    monkeypatch.setenv("NAME", "https://a.example, http://b.example:8000")
    assert env.origins("NAME") == ["https://a.example", "http://b.example:8000"]
    monkeypatch.setenv("NAME", " , ")
    assert env.comma_separated("NAME", default=("x",)) == ["x"]
    monkeypatch.setenv("NAME", "sqlite:////var/lib/desk.db")
    assert env.database("NAME", Path("x"))["NAME"] == Path("/var/lib/desk.db")
    monkeypatch.setenv("NAME", "")
    assert (env.text("NAME", "x"), env.comma_separated("NAME", ("x",)), env.choice("NAME", {"a"}, "a")) == (
        "x",
        ["x"],
        "a",
    )
    assert (env.origins("NAME"), env.database("NAME", Path("x"))["NAME"]) == ([], Path("x"))


def test_a_language_is_one_that_django_knows_or_that_a_folder_has(monkeypatch, tmp_path):
    for value, found in [("", "en"), ("de", "de"), ("PT-BR", "pt-br")]:
        monkeypatch.setenv("LANGUAGE", value)
        assert env.language("LANGUAGE", [tmp_path], default="en") == found
    monkeypatch.setenv("LANGUAGE", "xx")
    with pytest.raises(ImproperlyConfigured, match="'xx' is not a known language"):
        env.language("LANGUAGE", [tmp_path], default="en")
    made = tmp_path / "xx" / "LC_MESSAGES"
    made.mkdir(parents=True)
    (made / "django.mo").touch()
    assert env.language("LANGUAGE", [tmp_path], default="en") == "xx"
