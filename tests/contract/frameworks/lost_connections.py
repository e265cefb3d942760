"""A desk that cannot be reached at first."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.contract.frameworks.conftest import Agent


@contextmanager
def desk_that_comes_back(agent: Agent, after: int) -> Iterator[None]:
    """Drop the first connections to the desk, and forward the others."""
    server = agent.asker.server
    with socket.create_server(("127.0.0.1", 0)) as listener:
        agent.environment["PAUSEPOINT_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
        dropped = 0

        def serve() -> None:
            nonlocal dropped
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                if dropped < after:
                    dropped += 1
                    connection.close()
                    continue
                desk = socket.create_connection(("127.0.0.1", server.port))
                for source, target in ((connection, desk), (desk, connection)):
                    threading.Thread(target=forward, args=(source, target), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield
        # Closing it would not end `accept` in the thread.
        listener.shutdown(socket.SHUT_RDWR)
    assert dropped == after


def forward(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()
