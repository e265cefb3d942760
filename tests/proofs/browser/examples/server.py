"""The example front ends, built and served as their READMEs say."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator

from tests.support.processes.ports import free_port
from tests.support.processes.server import Server, until
from tests.support.root import ROOT
from tests.support.services import find_npm, install_packages

EXAMPLES = ROOT / "examples"


@contextlib.contextmanager
def served(name: str, server: Server) -> Iterator[str]:
    """Serve the example in front of this server with a key of the approver; return its address."""
    folder = EXAMPLES / name
    install_packages(folder)
    subprocess.run([find_npm(), "run", "build"], cwd=folder, check=True, capture_output=True, timeout=600)
    port = free_port()
    env = os.environ | {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": server.key("approver")}
    vite = ["node", "node_modules/vite/bin/vite.js", "preview"]
    command = [*vite, "--host", "127.0.0.1", "--port", str(port), "--strictPort"]
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port), "the example is served")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(60)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
