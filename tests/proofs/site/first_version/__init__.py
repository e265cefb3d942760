"""A desk of 0.1.0, the first version, as it stood in SQLite and in PostgreSQL: every later version must migrate and read it.

The demo's people, chats and requests, and rows of every noun of the policy. Each file was made once, by
`python -m tests.proofs.site.first_version`, and is never made anew after the release.
"""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from tests.support.processes import postgres

SQLITE = Path(__file__).with_name("sqlite.db.gz")
POSTGRESQL = Path(__file__).with_name("postgresql.sql.gz")


def restore_sqlite(file: Path) -> None:
    """Write the file of SQLite."""
    with gzip.open(SQLITE) as stored, file.open("wb") as restored:
        shutil.copyfileobj(stored, restored)


def restore_postgresql(url: str, folder: Path) -> None:
    """Fill a new database of PostgreSQL."""
    dump = folder / "first_version.sql"
    dump.write_bytes(gzip.decompress(POSTGRESQL.read_bytes()))
    postgres.load(dump, url)
