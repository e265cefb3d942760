"""Hash passwords on a few threads of their own, so that many log-ins at once leave processor time for everybody's pages."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connections

#: Half of the processors: a hash keeps one busy for about a third of a second.
THREADS = max(1, (os.cpu_count() or 1) // 2)
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-hashing")


class PooledPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's default hasher, with the same hashes; whoever waits for a thread holds no database connection."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        _close_idle_connections()
        return _pool.submit(super().encode, password, salt, iterations).result()


def _close_idle_connections() -> None:
    """Give connections back to PostgreSQL's pool: it is small, and pages need it."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()
