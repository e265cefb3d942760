"""Hash passwords on a few threads, so that many simultaneous log-ins leave processor time for pages."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connections

#: Half of the processors: a hash keeps one busy for about a third of a second.
THREADS = max(1, (os.cpu_count() or 1) // 2)
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-hashing")


class PooledPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's default hasher, with the same hashes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        opened = connections.all(initialized_only=True)
        if any(connection.in_atomic_block for connection in opened):
            # A transaction holds locks and must not wait in a queue.
            return super().encode(password, salt, iterations)
        for connection in opened:
            # Return the connection to PostgreSQL's small pool during the wait.
            connection.close()
        return _pool.submit(super().encode, password, salt, iterations).result()
