"""A desk of the first version is migrated and goes on; one that a commit before it made is refused in words."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from tests.proofs.site.first_version import restore_postgresql, restore_sqlite
from tests.support.processes import postgres
from tests.support.processes.deployed import Site, new_database, site
from tests.support.services import real_processes  # noqa: F401 - a fixture

#: Print each table of ours with the number of rows that were read, with every column.
READ_ALL = """
from django.apps import apps
for model in sorted(apps.get_models(), key=lambda model: model._meta.label):
    if model._meta.app_label in ("approvals", "chats"):
        print(model._meta.label, len([vars(row) for row in model._base_manager.all()]))
"""
#: What the stored desk has no row of: what only a running process, a browser or a moment has.
EMPTY = {
    "approvals.Advice",
    "approvals.AskAlways",
    "approvals.ChannelLinkOffer",
    "approvals.FollowUp",
    "approvals.Invitation",
    "approvals.KnownNetwork",
    "approvals.LastNotice",
    "approvals.PendingChange",
    "approvals.PersonSession",
    "approvals.ProviderSession",
    "approvals.PushSubscription",
    "approvals.RequestAttachment",
    "approvals.ResumeState",
    "approvals.Resumption",
    "approvals.UsedLogOutToken",
    "approvals.Worker",
    "chats.Attachment",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def first(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """The stored desk of 0.1.0."""
    if request.param == "postgresql":
        url = new_database()
        restore_postgresql(url, tmp_path)
    else:
        restore_sqlite(tmp_path / "first.sqlite3")
        url = f"sqlite:///{tmp_path / 'first.sqlite3'}"
    with site(tmp_path, DATABASE_URL=url) as desk:
        yield desk


@pytest.fixture
def new(first: Site, tmp_path: Path) -> Iterator[Site]:
    """A new desk on the same kind of database."""
    on_postgresql = first.env["DATABASE_URL"].startswith("postgresql")
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
    """Return the output of pg_dump, without comments and the key of `psql`, which differs each time."""
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
    # PostgreSQL writes some conditions in another way once they were restored, as those of the stored desk were.
    restored, file = new_database(), desk.logs / "restored.sql"
    postgres.dump(url, file)
    postgres.load(file, restored)
    tables = re.compile(r"(?<=^CREATE TABLE )(\S+) \(\n(.*?)\n\);", re.DOTALL | re.MULTILINE)
    text = "\n".join(pg_dump(restored, "--schema-only"))
    return tables.sub(lambda table: "\n".join([table[1], *sorted(table[2].split(",\n"))]), text).splitlines()


def waiting(desk: Site, tool: str) -> tuple[str, int]:
    """Return the request of the only call of this tool that waits, and its chat."""
    calls = "SELECT approval_id, chat_id FROM chats_toolcall WHERE name = ? AND state = 'waiting' ORDER BY id"
    (request, chat), *_others = desk.rows(calls, tool)
    return str(UUID(request)), chat


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_its_waiting_chats_go_on_and_its_record_holds(first):
    first.manage("migrate", "--verbosity", "0")
    assert first.manage("check", "--database", "default").returncode == 0
    first.serve()
    first.work()
    requester, approver = first.person("requester"), first.person("approver")

    refund, chat = waiting(first, "issueRefund")
    assert f"/requests/{refund}/" in approver.get("/?q=4713").text
    assert approver.decide(refund, verdict="approve").status == 302
    question, other = waiting(first, "askUser")
    assert requester.decide(question, verdict="respond", choice=1).status == 302
    first.wait_for_turn(chat, "completed")
    first.wait_for_turn(other, "completed")
    assert "refunded" in requester.get(f"/chats/{chat}/").text
    assert first.manage("audit", "check").stdout.endswith("audit entries are unchanged.\n")
    assert first.manage("makemigrations", "--check", "--dry-run").stdout == "No changes detected\n"


def test_each_of_its_rows_is_read(first):
    before = {table: first.rows(f"SELECT COUNT(*) FROM {table}")[0][0] for table in ("approvals_grant", "chats_turn")}
    first.manage("migrate", "--verbosity", "0")
    lines = [line.split() for line in first.run(READ_ALL).splitlines()]
    counts = {label: int(number) for label, number in lines}
    assert (counts["approvals.Grant"], counts["chats.Turn"]) == (before["approvals_grant"], before["chats_turn"])
    assert {label for label, number in counts.items() if number == 0} == EMPTY


def test_its_schema_is_then_that_of_a_new_desk(first, new):
    first.manage("migrate", "--verbosity", "0")
    assert schema(first) == schema(new)


@pytest.mark.parametrize(
    "command",
    [["migrate"], ["migrate", "--skip-checks"], ["serve", "--port", "0"], ["check", "--database", "default"]],
    ids=" ".join,
)
def test_a_desk_of_an_earlier_commit_is_refused_in_words_and_stays_as_it_is(first, command):
    first.rows("INSERT INTO django_migrations (app, name, applied) VALUES ('approvals', '0001_desk', '2026-11-24')")
    before = dump(first)
    done = first.manage(*command, check=False)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (1, "", False), done.stderr
    assert (
        "was created by a commit before 0.1.0, the first version, and cannot be migrated. Nothing was changed. Keep using "
        "that commit with it, or set DATABASE_URL to a new database and run `manage.py migrate`."
    ) in done.stderr
    assert dump(first) == before
