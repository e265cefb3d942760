"""A site backed up in use and restored elsewhere goes on: paused turns are answered there, and continue once."""

from __future__ import annotations

import re
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from tests.support.processes import postgres
from tests.support.processes.deployed import Site, new_database, site
from tests.support.processes.server import until
from tests.support.services import real_processes  # noqa: F401 - a fixture

COUNTED = """
from approvals.models import AuditEntry
from chats.models import ToolCall, TurnCheckpoint
calls = [(c.state, c.attempt, c.output["executions"] if c.output else 0) for c in ToolCall.objects.filter(chat={chat})]
kinds = list(TurnCheckpoint.objects.filter(chat_pk={chat}).order_by("ordinal").values_list("kind", flat=True))
print(calls, kinds, AuditEntry.objects.filter(event="tool.result").count())
"""
PROTECTED = """
from django.db import DatabaseError, connection, transaction
from approvals.db import append_only
from approvals.models import AuditEntry
refused = []
for change in (lambda: AuditEntry.objects.all().delete(), lambda: AuditEntry.objects.update(body="{}")):
    try:
        with transaction.atomic():
            change()
    except DatabaseError as error:
        refused.append("is append-only" in str(error))
print(append_only.missing_triggers(connection), refused)
"""


def answered_elsewhere(here: Site, there: Site, move) -> None:
    """A turn pauses here, `move` carries the data, and the answer is given there."""
    here.set_up()
    here.serve()
    here.work()
    chat, request = here.person("requester").pause("Please refund order 4711, 250 euros")
    move()
    # Here it goes on, and another decision is made: the backup lacks it.
    assert here.person("approver").decide(request, verdict="reject").status == 302
    here.wait_for_turn(chat, "completed")
    here.stop()

    assert there.run(PROTECTED) == "[] [True, True]\n"
    there.manage("migrate", "--verbosity", "0")
    assert there.manage("check", "--database", "default").returncode == 0
    there.serve()
    there.work()
    assert there.turn(chat) == "suspended"
    approver = there.person("approver")
    assert approver.decide(request, verdict="approve").status == 302
    there.wait_for_turn(chat, "completed")
    late = approver.decide(request, verdict="reject")
    assert (late.status, bool(re.search("approved", late.text))) == (409, True)
    assert there.run(COUNTED.format(chat=chat)) == "[('succeeded', 1, 1)] ['partial', 'final'] 1\n"
    assert there.run(PROTECTED) == "[] [True, True]\n"


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_sqlite_backed_up_in_use_and_restored_elsewhere_continues_a_paused_turn(tmp_path):
    used, copy, restored = (tmp_path / name for name in ("used.sqlite3", "copy.sqlite3", "restored.sqlite3"))

    def move() -> None:
        done = here.manage("backup", str(copy))
        assert re.fullmatch(rf"{re.escape(str(copy))}: [\d,]+ bytes, checked\.\n", done.stdout)
        shutil.copy(copy, restored)

    with (
        site(tmp_path, DATABASE_URL=f"sqlite:///{used}") as here,
        site(tmp_path, DATABASE_URL=f"sqlite:///{restored}") as there,
    ):
        answered_elsewhere(here, there, move)


def tool(program: str, *words: str) -> None:
    path = postgres.find_binaries() / program
    done = subprocess.run([str(path), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_postgresql_dumped_in_use_and_restored_elsewhere_continues_a_paused_turn(tmp_path):
    used, restored, dump = new_database(), new_database(), tmp_path / "pausepoint.dump"

    def move() -> None:
        refused = here.manage("backup", str(tmp_path / "copy"), check=False)
        assert (refused.returncode, "pg_dump" in refused.stderr) == (1, True)
        tool("pg_dump", "--format=custom", f"--file={dump}", used)
        tool("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={restored}", str(dump))

    with site(tmp_path, DATABASE_URL=used) as here, site(tmp_path, DATABASE_URL=restored) as there:
        answered_elsewhere(here, there, move)
    assert urlsplit(used).path != urlsplit(restored).path
    until(lambda: dump.exists(), "the dump is there")
