"""Copy the SQLite database while it is in use, with SQLite's online backup; the file appears only when complete."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path

from django.utils.translation import gettext as _


class BackupFailed(Exception):
    """The copy failed; the message gives the reason."""


def back_up(database: Path, target: Path) -> int:
    """Copy `database` into a new file `target`, readable only by its owner.

    Return the size of the copy in bytes. Raise BackupFailed.
    """
    if target.exists():
        raise BackupFailed(
            _("%(target)s already exists. Choose another name, or remove it first.")
            % {"target": target}
        )
    try:
        # In the same folder: a file can be renamed atomically only within one file system.
        number, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    except OSError as error:
        raise BackupFailed(
            _("Cannot write %(target)s: %(strerror)s.")
            % {"target": target, "strerror": error.strerror}
        ) from error
    os.close(number)
    part = Path(name)
    try:
        _copy(database, part)
        _check(part)
        _check_is_pausepoint(part, database)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        os.link(part, target)
        sync_folder(target.parent)
    except FileExistsError as error:
        raise BackupFailed(
            _(
                "%(target)s was created by another program in the meantime. Choose another name."
            )
            % {"target": target}
        ) from error
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(
            _("The backup failed and no copy was made: %(error)s.") % {"error": error}
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(database: Path, part: Path) -> None:
    source = sqlite3.connect(
        f"{database.resolve().as_uri()}?mode=ro", uri=True, timeout=20
    )
    copy = sqlite3.connect(part)
    with contextlib.closing(source), contextlib.closing(copy):
        # In one step, which copies one snapshot: with several steps, SQLite restarts after every write in between and might never
        # finish. In WAL mode it blocks no one.
        source.backup(copy)
        # A single file, without a WAL file that might be left out of a copy.
        copy.execute("PRAGMA journal_mode=DELETE")


def _check(part: Path) -> None:
    with contextlib.closing(sqlite3.connect(part)) as copy:
        problems = [str(row[0]) for row in copy.execute("PRAGMA integrity_check(5)")]
        broken = copy.execute("PRAGMA foreign_key_check").fetchone()
    if problems != ["ok"]:
        raise BackupFailed(
            _(
                "The database is damaged: %(problems)s. Keep the database file and your last backup."
            )
            % {"problems": "; ".join(problems)}
        )
    if broken is not None:
        raise BackupFailed(
            _(
                "The database is damaged: a row of %(table)s refers to a row of %(other)s that does not exist."
            )
            % {"table": broken[0], "other": broken[2]}
        )


def _check_is_pausepoint(part: Path, database: Path) -> None:
    """Raise BackupFailed unless the copy is a database of Pausepoint: a mistyped path may name an empty file."""
    with contextlib.closing(sqlite3.connect(part)) as copy:
        tables = {
            str(row[0])
            for row in copy.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
        }
        ours = "SELECT 1 FROM django_migrations WHERE app = 'approvals'"
        if "django_migrations" not in tables or copy.execute(ours).fetchone() is None:
            raise BackupFailed(
                _(
                    "%(database)s is not a Pausepoint database, so it was not copied. Check DATABASE_URL. "
                    "For a new database, run `manage.py migrate` first."
                )
                % {"database": database}
            )


def sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
