"""A server of Restate and the service of the guide; runs are begun by lines on stdin."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import guide
import httpx
import hypercorn.asyncio
import hypercorn.config

SERVER = Path(sys.executable).parent.parent / "npm" / "node_modules" / ".bin" / "restate-server"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def register(admin: int, service: int) -> None:
    async with httpx.AsyncClient() as client:
        for _attempt in range(600):
            try:
                uri = {"uri": f"http://127.0.0.1:{service}"}
                reply = await client.post(f"http://127.0.0.1:{admin}/deployments", json=uri, timeout=30)
                if reply.status_code == 201:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.2)
    raise SystemExit("The service is not registered.")


async def run(ingress: int, name: str, orders: list[str]) -> None:
    async with httpx.AsyncClient() as client:
        reply = await client.post(f"http://127.0.0.1:{ingress}/Refunds/{name}/run", json=orders, timeout=600)
    print("DONE", json.dumps([name, reply.json()]), flush=True)


async def main() -> None:
    service, admin, ingress, node = (free_port() for _each in range(4))
    config = hypercorn.config.Config()
    config.bind = [f"127.0.0.1:{service}"]
    serving = asyncio.create_task(hypercorn.asyncio.serve(guide.app, config))
    settings = {
        "RESTATE_BASE_DIR": str(Path(sys.argv[1]) / "restate"),
        "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
        "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
        "RESTATE_DEFAULT_NUM_PARTITIONS": "2",
    }
    with open(Path(sys.argv[1]) / "restate.log", "wb") as log:
        # npm's command starts the server as a child.
        server = subprocess.Popen(
            [str(SERVER)], env=os.environ | settings, stdout=log, stderr=log, start_new_session=True
        )
    try:
        await register(admin, service)
        print("READY", f"http://127.0.0.1:{ingress}", flush=True)
        tasks = [serving]
        while line := await asyncio.to_thread(sys.stdin.readline):
            tasks.append(asyncio.create_task(run(ingress, *json.loads(line))))
        for task in tasks:
            task.cancel()
    finally:
        os.killpg(server.pid, signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main())
