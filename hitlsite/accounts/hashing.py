"""Hash passwords on a few threads, so that many simultaneous log-ins leave processor time for pages."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from approvals.db.transactions import release_connections

#: Half of the processors: a hash keeps one busy for about a third of a second.
THREADS = max(1, (os.cpu_count() or 1) // 2)
_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-hashing")


class PooledPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's default hasher, with the same hashes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if not release_connections():
            # A transaction holds locks and must not wait in a queue.
            return super().encode(password, salt, iterations)
        return _pool.submit(super().encode, password, salt, iterations).result()
