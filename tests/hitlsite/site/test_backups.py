"""A backup is whole or missing, and a restored site goes on: paused turns are answered, and continue once."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from hitlsite import backups
from hitlsite.backups import BackupFailed, back_up
from tests.support.services import real_processes  # noqa: F401 - a fixture

PAUSEPOINT = """
CREATE TABLE django_migrations (app, name);
INSERT INTO django_migrations VALUES ('approvals', '0001_initial')
"""


@pytest.fixture
def database(tmp_path) -> Path:
    """A database as ours are: in WAL mode, with a trigger, and with migrations."""
    path = tmp_path / "used.sqlite3"
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.executescript(
            "CREATE TABLE t (n); CREATE TRIGGER keep BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        made.executescript(PAUSEPOINT)
        made.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1000)])
        made.commit()
    return path


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as read:
        return int(read.execute("SELECT count(*) FROM t").fetchone()[0])


def test_a_backup_is_one_private_file_with_all_committed_data(database, tmp_path):
    with closing(sqlite3.connect(database)) as writing:
        writing.execute("INSERT INTO t VALUES (1000)")
        writing.commit()
        writing.execute("INSERT INTO t VALUES (1001)")  # not committed
        target = tmp_path / "copies" / "copy.sqlite3"
        target.parent.mkdir()
        size = back_up(database, target)
    assert (rows(target), size) == (1001, target.stat().st_size)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert os.listdir(target.parent) == ["copy.sqlite3"]
    with closing(sqlite3.connect(target)) as copy, pytest.raises(sqlite3.IntegrityError, match="no"):
        copy.execute("DELETE FROM t")


def test_a_backup_finishes_during_writes(database, tmp_path):
    with closing(sqlite3.connect(database)) as big:
        # 32 MB: more than is copied between two commits of a desk in use.
        big.execute("CREATE TABLE b (data)")
        big.executemany("INSERT INTO b VALUES (randomblob(1000000))", [()] * 32)
        big.commit()
    over, give_up = threading.Event(), time.monotonic() + 60

    def write() -> None:
        with closing(sqlite3.connect(database, timeout=60)) as writing:
            while not over.is_set() and time.monotonic() < give_up:
                writing.execute("INSERT INTO t VALUES (-1)")
                writing.commit()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        back_up(database, tmp_path / "copy.sqlite3")
        assert writer.is_alive()
    finally:
        over.set()
        writer.join()
    assert 1000 <= rows(tmp_path / "copy.sqlite3") <= rows(database)


def test_an_existing_file_is_not_overwritten(database, tmp_path):
    target = tmp_path / "copy.sqlite3"
    target.write_text("the only copy of last week")
    with pytest.raises(BackupFailed, match=r"copy\.sqlite3 already exists"):
        back_up(database, target)
    assert target.read_text() == "the only copy of last week"


def test_a_file_that_appears_meanwhile_is_not_overwritten(database, tmp_path, monkeypatch):
    target = tmp_path / "copies" / "copy.sqlite3"
    target.parent.mkdir()
    check = backups._check

    def slowly(part: Path) -> None:
        check(part)
        target.write_text("somebody else's")

    monkeypatch.setattr(backups, "_check", slowly)
    with pytest.raises(BackupFailed, match="was created by another program in the meantime"):
        back_up(database, target)
    assert (target.read_text(), os.listdir(target.parent)) == ("somebody else's", ["copy.sqlite3"])


def test_a_damaged_database_is_not_backed_up(database, tmp_path):
    with closing(sqlite3.connect(database)) as whole:
        whole.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole.execute("PRAGMA journal_mode=DELETE")
    damaged = bytearray(database.read_bytes())
    damaged[4096:4596] = b"\xff" * 500
    database.write_bytes(bytes(damaged))
    target = tmp_path / "copies" / "copy.sqlite3"
    target.parent.mkdir()
    with pytest.raises(BackupFailed, match=r"damaged|malformed"):
        back_up(database, target)
    assert os.listdir(target.parent) == []


def test_a_broken_foreign_key_is_reported(database, tmp_path):
    with closing(sqlite3.connect(database)) as loose:
        loose.executescript("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id))")
        loose.executescript("INSERT INTO c VALUES (7)")
    with pytest.raises(BackupFailed, match="a row of c refers to a row of p that does not exist"):
        back_up(database, tmp_path / "copy.sqlite3")


@pytest.mark.parametrize(
    "tables",
    ["", "CREATE TABLE t (n)", PAUSEPOINT.replace("approvals", "wagtail")],
    ids=["nothing", "no migrations", "another project"],
)
def test_a_foreign_database_is_not_backed_up(tmp_path, tables):
    empty, target = tmp_path / "typo.sqlite3", tmp_path / "copies" / "copy.sqlite3"
    target.parent.mkdir()
    empty.touch()
    with closing(sqlite3.connect(empty)) as made:
        made.executescript(tables)
    with pytest.raises(BackupFailed, match=r"typo\.sqlite3 is not a Pausepoint database.* Check DATABASE_URL"):
        back_up(empty, target)
    assert os.listdir(target.parent) == []


def test_a_missing_folder_is_reported(database, tmp_path):
    with pytest.raises(BackupFailed, match=r"Cannot write .*: No such file or directory"):
        back_up(database, tmp_path / "nowhere" / "copy.sqlite3")
