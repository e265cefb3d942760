"""What a process holds, as its system and its database see it."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg


def threads(pid: int) -> int:
    return int(_status(pid, "Threads"))


def memory(pid: int) -> int:
    """Resident, in KiB."""
    return int(_status(pid, "VmRSS").split()[0])


def cpu(pid: int) -> float:
    """Seconds of a core used so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def sockets(pid: int) -> int:
    """Open connections of every sort."""
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except FileNotFoundError:
            continue
    return found


def connections(url: str) -> int:
    """Connections to this database, this one apart."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            b"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return int(row[0])


def _status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return line.partition(":")[2].strip()
