"""What a process holds, as its system and its database see it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg

#: Ticks of the clock a second, in which the system counts CPU.
TICKS = os.sysconf("SC_CLK_TCK")


def threads(pid: int) -> int:
    return int(_status(pid, "Threads"))


def memory(pid: int) -> int:
    """Resident, in KiB."""
    return int(_status(pid, "VmRSS").split()[0])


def cpu(pid: int) -> float:
    """Seconds of a core used so far."""
    return sum(map(int, _stat(pid)[11:13])) / TICKS


def cpu_of_all(pid: int) -> float:
    """Seconds of a core that a process and its children have used, also those that have ended."""
    children = sum(cpu(child) for child in _children(pid))
    return children + sum(map(int, _stat(pid)[11:15])) / TICKS


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


def _children(pid: int) -> Iterator[int]:
    """Yield the processes that this one has started."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        # It may have ended meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(_stat(int(name))[1]) == pid:
                yield int(name)


def _stat(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name}:")]
    return line.partition(":")[2].strip()
