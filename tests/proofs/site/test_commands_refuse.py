"""Commands without a usable database or with invalid arguments print one line with the remedy."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.processes import starting
from tests.support.processes.deployed import new_database
from tests.support.processes.ports import free_port
from tests.support.processes.server import PATIENCE, environment
from tests.support.processes.shared import migrated_file

COMMANDS = [
    ["serve", "--port", "0"],
    ["worker"],
    ["createkey", "--user", "alice", "--name", "billing"],
    ["webhooksecret", "--key", "pp_0123"],
    ["breakglass"],
    ["prune"],
    ["seed_demo"],
    ["audit", "check"],
    ["resetfactors", "--user", "alice"],
]


class Database:
    def __init__(self, url: str) -> None:
        self.url = url


def refusal(url: str, *words: str | bytes) -> str:
    """The last line of a command that fails; no other line of it may be a traceback's."""
    env = environment(Database(url))  # type: ignore[arg-type]
    done = starting.run(["manage.py", *map(os.fsdecode, words)], env=env, timeout=PATIENCE)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (1, "", False), done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_database_without_tables_is_not_worked_on(tmp_path, command):
    path = tmp_path / "empty.sqlite3"
    path.touch()
    said = refusal(f"sqlite:///{path}", *command)
    assert said == (
        f"CommandError: The database {path} has unapplied migrations in "
        "account, admin, approvals, auth, chats, contenttypes, mfa, sessions, socialaccount. Run `manage.py migrate`."
    )


@pytest.mark.parametrize("command", [COMMANDS[0], COMMANDS[2]], ids=["serve", "createkey"])
def test_a_mistyped_path_is_named_and_no_file_is_made_there(tmp_path, command):
    path = tmp_path / "typo.sqlite3"
    said = refusal(f"sqlite:///{path}", *command)
    assert said == f"CommandError: The database {path} does not exist. Check DATABASE_URL, or run `manage.py migrate`."
    assert not path.exists()


def test_a_copy_of_what_is_not_there_is_refused_and_nothing_is_made(tmp_path):
    path = tmp_path / "typo.sqlite3"
    said = refusal(f"sqlite:///{path}", "backup", str(tmp_path / "copy.sqlite3"))
    assert said == f"CommandError: No database exists at {path}. Run `manage.py migrate` first."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [COMMANDS[1], COMMANDS[4]], ids=["worker", "prune"])
def test_a_server_that_does_not_answer_is_named_without_the_password(command):
    port = free_port()
    said = refusal(f"postgresql://alice:hunter2@127.0.0.1:{port}/desk", *command)
    assert said.startswith(f"CommandError: Cannot use the database 'desk' at 127.0.0.1:{port}: connection failed: ")
    assert ("Connection refused" in said, "hunter2" in said) == (True, False)


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Not a database at all. " * 100)
    assert refusal(f"sqlite:///{path}", "prune") == (
        f"CommandError: Cannot use the database {path}: file is not a database"
    )


def test_a_database_of_a_version_before_this_one_is_not_served(tmp_path):
    path = tmp_path / "older.sqlite3"
    shutil.copy(migrated_file(), path)
    with closing(sqlite3.connect(path)) as older:
        older.execute("DELETE FROM django_migrations WHERE app = 'chats'")
        older.commit()
    said = refusal(f"sqlite:///{path}", "serve", "--port", "0")
    assert said.endswith("has unapplied migrations in chats. Run `manage.py migrate`.")
    # Before an upgrade is when one wants a copy.
    copy = tmp_path / "copy.sqlite3"
    env = environment(Database(f"sqlite:///{path}"))  # type: ignore[arg-type]
    done = starting.run(["manage.py", "backup", str(copy)], env=env, timeout=PATIENCE)
    assert (done.returncode, copy.exists()) == (0, True), done.stderr


def test_a_postgresql_without_tables_is_not_worked_on():
    url = new_database()
    for command in (["serve", "--port", "0"], ["worker"]):
        said = refusal(url, *command)
        assert (
            "has unapplied migrations in account, admin, approvals, " in said,
            "procrastinate" in said,
        ) == (
            True,
            True,
        )
    said = refusal(f"{url}_gone", "worker")
    assert said.endswith('_gone" does not exist')


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["createkey", "--user", "alice", "--name", b"a\xff"], "name"),
        (["createkey", "--name", "billing", "--user", b"a\xff"], "user"),
        (["webhooksecret", "--key", b"a\xff"], "key"),
        (["backup", b"a\xff"], "file"),
    ],
    ids=["a name", "a user", "a key", "a file"],
)
def test_what_is_no_text_is_refused_in_words(tmp_path, words, name):
    said = refusal(f"sqlite:///{tmp_path}/none.sqlite3", *words)
    assert said == f"CommandError: {name} is not valid UTF-8: 'a\\udcff'."
    assert list(Path(tmp_path).iterdir()) == []
