"""Free ports for servers of tests, each used once."""

from __future__ import annotations

import contextlib
import fcntl
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

#: Below the range from which Linux takes the ports of outgoing connections: a port stays free while its server restarts.
RANGE = (20_000, 32_000)

_held: list[IO[bytes]] = []


def free_port() -> int:
    """A port that nothing listens on and that no other test process on this machine is given while this one lives."""
    folder = Path(tempfile.gettempdir()) / "pausepoint-test-ports"
    folder.mkdir(exist_ok=True)
    while True:
        port = random.SystemRandom().randint(*RANGE)
        held = (folder / str(port)).open("wb")
        with contextlib.suppress(OSError), socket.socket() as probe:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            _held.append(held)
            return port
        held.close()
