"""Tests for PostgreSQL only: real locks, and transactions that overlap.

Where the suite runs on SQLite, `tests/proofs/test_on_postgresql.py` has the races run in a process of their own.
"""

from __future__ import annotations

import os

if os.environ.get("TEST_ON") != "postgresql":
    collect_ignore_glob = ["test_races_*.py"]
