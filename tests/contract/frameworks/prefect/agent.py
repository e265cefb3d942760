"""A server of Prefect, and the flow of the guide in a process of its own per run; runs are begun by lines on stdin."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

FLOW = """
import json, sys
import guide
print("DONE", json.dumps([sys.argv[1], guide.refunds(json.loads(sys.argv[2]))]), flush=True)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(address: str) -> None:
    for _attempt in range(900):
        try:
            httpx.get(f"{address}/health", timeout=5)
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("The server does not answer.")


def pass_on(flow: subprocess.Popen[str]) -> None:
    assert flow.stdout is not None
    for line in flow.stdout:
        if line.startswith("DONE "):
            print(line, end="", flush=True)


def main() -> None:
    folder = Path(sys.argv[1])
    port = free_port()
    os.environ |= {"PREFECT_HOME": str(folder / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    os.environ["PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"] = "false"
    command = [
        str(Path(sys.executable).parent / "prefect"),
        "server",
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with (folder / "prefect.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    flows = []
    try:
        os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
        wait_for(os.environ["PREFECT_API_URL"])
        print("READY", os.environ["PREFECT_API_URL"], flush=True)
        for line in sys.stdin:
            name, orders = json.loads(line)
            words = [sys.executable, "-c", FLOW, name, json.dumps(orders)]
            flows.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            threading.Thread(target=pass_on, args=(flows[-1],), daemon=True).start()
    finally:
        for process in (*flows, server):
            process.terminate()
        for process in (*flows, server):
            process.wait(30)


if __name__ == "__main__":
    main()
