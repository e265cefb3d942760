"""PostgreSQL connections that the pool does not check while they are in constant use."""

from __future__ import annotations

import math
from functools import cached_property
from time import monotonic
from typing import Any

import psycopg

#: Seconds of idleness after which a connection may have broken unnoticed, such as after a database restart.
REST = 1.0


class PooledConnection(psycopg.Connection[Any]):
    """Skip the pool's check, an empty statement, if the connection was last taken within REST.

    Each request and each piece of work takes a connection from the pool, so the checks were a tenth of all statements.
    """

    taken_at = -math.inf

    @cached_property
    def _unchecked(self) -> psycopg.Cursor[Any]:
        """The result of a skipped check, which no one reads."""
        return self.cursor()

    def execute(self, query: Any, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        if query == "":
            rested = monotonic() - self.taken_at
            self.taken_at = monotonic()
            if rested < REST:
                return self._unchecked
        return super().execute(query, *args, **options)
