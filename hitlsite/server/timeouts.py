"""How long PostgreSQL lets a process that serves wait for a lock or an answer, and stay idle in a transaction.

A process that is frozen in a transaction holds its locks until the server ends its session: sooner than its lease lapses.
Other commands (`migrate`, `prune`, `backup`) may take as long as they need.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import connections


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Milliseconds, by the names of the server's own settings."""

    statement_timeout: int
    lock_timeout: int
    #: Nothing here thinks for long inside a transaction; shorter than a lease (15 s).
    idle_in_transaction_session_timeout: int = 10_000


#: People wait for pages: they are told to try again, but not before the locks of a frozen process are gone.
PAGES = Limits(statement_timeout=30_000, lock_timeout=15_000)
#: The threads of a worker are few. What finds a row locked is tried again later (`dbpool.run`), and the thread is free meanwhile.
WORK = Limits(statement_timeout=60_000, lock_timeout=2_000)


def keep_to(limits: Limits) -> None:
    """Have every connection that this process makes from now on keep to the limits; nothing on SQLite."""
    connection = connections["default"]
    given = connection.settings_dict
    if not given["ENGINE"].endswith("postgresql"):
        return
    ours = [f"-c {name}={value}" for name, value in asdict(limits).items()]
    # What an operator says in DATABASE_URL comes last, and counts.
    given["OPTIONS"]["options"] = " ".join([*ours, given["OPTIONS"].get("options", "")]).strip()
    # Django's own checks may have made one before.
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
