"""A desk with the last schema before `0001_initial` goes on with its waiting chats; one that is older is refused in words.

`older_desks` holds such desks as SQL, made by commit c9748bf8 with Django 5.2: a chat that has ended, one that waits for an
approval, and one that waits for an answer.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.processes import postgres
from tests.support.processes.deployed import Site, new_database, site
from tests.support.services import real_processes  # noqa: F401 - a fixture

DESKS = Path(__file__).parent / "older_desks"
ENDED, APPROVAL, QUESTION = 1, 2, 3


@pytest.fixture(params=["sqlite", "postgresql"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "postgresql":
        url = new_database()
        postgres.load(DESKS / "postgresql.sql", url)
    else:
        url = f"sqlite:///{tmp_path / 'older.sqlite3'}"
        with closing(sqlite3.connect(tmp_path / "older.sqlite3")) as file:
            file.executescript((DESKS / "sqlite.sql").read_text())
    with site(tmp_path, DATABASE_URL=url) as desk:
        yield desk


@pytest.fixture
def new(older: Site, tmp_path: Path) -> Iterator[Site]:
    """A new desk on the same kind of database."""
    on_postgresql = older.env["DATABASE_URL"].startswith("postgresql")
    url = new_database() if on_postgresql else f"sqlite:///{tmp_path / 'new.sqlite3'}"
    with site(tmp_path, DATABASE_URL=url) as desk:
        desk.set_up()
        yield desk


def dump(desk: Site) -> list[str]:
    """Return the database as lines of SQL."""
    url = desk.env["DATABASE_URL"]
    if url.startswith("postgresql"):
        return pg_dump(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        return list(file.iterdump())


def pg_dump(url: str, *options: str) -> list[str]:
    """Return what pg_dump writes, without comments and the key of `psql`, which differs each time."""
    command = [str(postgres.find_binaries() / "pg_dump"), *options, url]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if line and not line.startswith(("--", "\\"))]


def schema(desk: Site) -> list[str]:
    """Return the definitions of the tables, indexes and triggers, with the columns of each table sorted."""
    url = desk.env["DATABASE_URL"]
    if url.startswith("sqlite"):
        ours = "SELECT sql FROM sqlite_master WHERE sql > '' AND (tbl_name LIKE 'approvals%' OR tbl_name LIKE 'chats%')"
        # Django 6.1 writes conditions on booleans in another way.
        statements = [re.sub(r'NOT ("\w+")', r"\1 = 0", sql).removesuffix(")") for (sql,) in desk.rows(ours)]
        return sorted("\n".join(sorted(re.split(r', (?="\w+" [a-z]|CONSTRAINT )', sql))) for sql in statements)
    # PostgreSQL writes some conditions in another way once they were restored, as those of the older desk were.
    restored, file = new_database(), desk.logs / "restored.sql"
    postgres.dump(url, file)
    postgres.load(file, restored)
    tables = re.compile(r"(?<=^CREATE TABLE )(\S+) \(\n(.*?)\n\);", re.DOTALL | re.MULTILINE)
    text = "\n".join(pg_dump(restored, "--schema-only"))
    return tables.sub(lambda table: "\n".join([table[1], *sorted(table[2].split(",\n"))]), text).splitlines()


def request_of(desk: Site, chat: int) -> str:
    ((request,),) = desk.rows("SELECT approval_id FROM chats_toolcall WHERE chat_id = ? AND state = 'waiting'", chat)
    return str(UUID(request))


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_a_desk_with_waiting_chats_goes_on(older):
    older.manage("migrate", "--verbosity", "0")
    assert older.manage("check", "--database", "default").returncode == 0
    older.serve()
    older.work()
    requester, approver = older.person("requester"), older.person("approver")
    assert [older.turn(chat) for chat in (ENDED, APPROVAL, QUESTION)] == ["completed", "suspended", "suspended"]

    request = request_of(older, APPROVAL)
    assert set(re.findall(r'"/requests/([0-9a-f-]{36})/', approver.get("/?q=4711").text)) == {request}
    assert approver.decide(request, verdict="approve").status == 302
    assert requester.decide(request_of(older, QUESTION), verdict="respond", choice=1).status == 302
    older.wait_for_turn(APPROVAL, "completed")
    older.wait_for_turn(QUESTION, "completed")
    assert "refunded" in requester.get(f"/chats/{ENDED}/").text
    assert older.manage("audit", "check").stdout.endswith("audit entries are unchanged.\n")
    assert older.manage("makemigrations", "--check", "--dry-run").stdout == "No changes detected\n"


def test_its_schema_is_then_that_of_a_new_desk(older, new):
    older.manage("migrate", "--verbosity", "0")
    assert schema(older) == schema(new)


def test_settings_of_a_tool_in_several_spellings_are_joined(older):
    insert = (
        "INSERT INTO approvals_toolsettings (tool_name, key_fields, reason_required, min_priority, prepared_answers)"
    )
    for tool, strict, priority in (("Wire", "true", "high"), ("wire", "false", "critical"), ("refund", "false", "")):
        older.rows(f"{insert} VALUES (?, '[]', {strict}, ?, '[]')", tool, priority)
    older.manage("migrate", "--verbosity", "0")
    left = older.rows("SELECT tool_name, reason_required, min_priority FROM approvals_toolsettings ORDER BY tool_name")
    assert left == [("refund", False, ""), ("wire", True, "critical")]
    requests = "SELECT DISTINCT tool_name, canonical_tool FROM approvals_approvalrequest WHERE tool_name > ''"
    assert set(older.rows(requests)) == {("issueRefund", "issuerefund"), ("askUser", "askuser")}


@pytest.mark.parametrize(("app", "name"), [("approvals", "0033_pending_changes"), ("chats", "0016_turn_version")])
def test_a_desk_that_lacks_a_replaced_migration_is_told_what_to_run_first_and_stays_as_it_is(older, app, name):
    older.rows("DELETE FROM django_migrations WHERE app = ? AND name = ?", app, name)
    before = dump(older)
    for command in (["migrate"], ["migrate", "--skip-checks"], ["serve", "--port", "0"]):
        done = older.manage(*command, check=False)
        assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (1, "", False), done.stderr
        assert done.stderr.splitlines()[-1].endswith(
            f" is too old for this version, which no longer contains the migrations of {app} that it lacks. Nothing was "
            "changed. Run `manage.py migrate` of commit c9748bf8 first, and then that of this version."
        )
    assert dump(older) == before


# SQLite always had the index.
@pytest.mark.parametrize("older", ["postgresql"], indirect=True)
def test_a_desk_with_two_unfinished_turns_in_a_chat_is_told_so_and_stays_as_it_is(older):
    older.rows("UPDATE chats_turn SET chat_id = ? WHERE chat_id = ?", APPROVAL, QUESTION)
    before = dump(older)
    done = older.manage("migrate", check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"CommandError: Chat {APPROVAL} has more than one unfinished turn, and this version allows one. Nothing was changed. "
        "Stop the chat with the version that you upgrade from, until one is left, and run `manage.py migrate` again."
    )
    assert dump(older) == before
    older.rows("UPDATE chats_turn SET state = 'stopped' WHERE id = (SELECT MAX(id) FROM chats_turn)")
    older.manage("migrate", "--verbosity", "0")
