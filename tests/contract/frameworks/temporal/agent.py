"""A development server of Temporal and a worker with the workflow of the guide; runs are begun by lines on stdin."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path

import guide
from temporalio.client import Client
from temporalio.worker import Worker


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def connect(address: str) -> Client:
    for _attempt in range(300):
        try:
            return await Client.connect(address)
        except RuntimeError:
            await asyncio.sleep(0.2)
    raise SystemExit("The server does not listen.")


async def run(client: Client, name: str, orders: list[str]) -> None:
    result = await client.execute_workflow(guide.Refunds.run, orders, id=name, task_queue="refunds")
    print("DONE", json.dumps([name, result]), flush=True)


async def main() -> None:
    grpc, http = free_port(), free_port()
    command = [str(Path(sys.executable).parent / "temporal"), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
    command += ["--port", str(grpc), "--http-port", str(http)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        client = await connect(f"127.0.0.1:{grpc}")
        async with Worker(client, task_queue="refunds", workflows=[guide.Refunds], activities=[guide.ask]):
            print("READY", f"http://127.0.0.1:{http}", flush=True)
            tasks = []
            while line := await asyncio.to_thread(sys.stdin.readline):
                tasks.append(asyncio.create_task(run(client, *json.loads(line))))
            for task in tasks:
                task.cancel()
    finally:
        server.kill()


if __name__ == "__main__":
    asyncio.run(main())
