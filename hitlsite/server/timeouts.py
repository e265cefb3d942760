"""PostgreSQL's timeouts for serving processes: for statements, for locks and for idling in a transaction.

A process that freezes in a transaction holds its locks until the server ends its session, which is sooner than its lease
expires. Other commands (`migrate`, `prune`, `backup`) have no timeouts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import connections


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTimeouts:
    """Milliseconds, named like the settings of the server."""

    statement_timeout: int
    lock_timeout: int
    #: Shorter than a lease (15 s); none of our transactions idles for long.
    idle_in_transaction_session_timeout: int = 10_000


#: For pages: long enough that the locks of a frozen process are released first.
PAGES = ServerTimeouts(statement_timeout=30_000, lock_timeout=15_000)
#: For workers, which have few threads: work on a locked row is retried later (`pool.run`).
WORK = ServerTimeouts(statement_timeout=60_000, lock_timeout=2_000)


def apply_limits(limits: ServerTimeouts) -> None:
    """Apply the limits to every connection that this process opens from now on; SQLite has none."""
    connection = connections["default"]
    database = connection.settings_dict
    if not database["ENGINE"].endswith("postgresql"):
        return
    ours = [f"-c {name}={value}" for name, value in asdict(limits).items()]
    # Options in DATABASE_URL come last and take precedence.
    database["OPTIONS"]["options"] = " ".join(
        [*ours, database["OPTIONS"].get("options", "")]
    ).strip()
    # Django's checks may have connected before.
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
