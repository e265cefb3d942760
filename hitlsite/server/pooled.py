"""Connections to PostgreSQL that the pool does not check while they are in use all the time."""

from __future__ import annotations

import math
from time import monotonic
from typing import Any

import psycopg

#: Seconds without use after which a connection may have broken unnoticed, for example because the database restarted.
REST = 1.0


class PooledConnection(psycopg.Connection[Any]):
    """Skips the check of the pool, an empty statement, if it was taken from the pool within REST before.

    Each request and each piece of work takes a connection from the pool, so the checks were a tenth of all statements.
    """

    taken_at = -math.inf

    def execute(self, query: Any, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        if query == "":
            rested, self.taken_at = monotonic() - self.taken_at, monotonic()
            if rested < REST:
                return self.cursor()
        return super().execute(query, *args, **options)
