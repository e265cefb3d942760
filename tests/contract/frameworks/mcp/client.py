"""The official MCP client, with its calls line by line: `client.py auto|legacy KEY ADDRESS...`, one per process of the desk.

Several calls may run at a time. Each line of output is a result, or an event before it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, InputRequiredResult

MODE, KEY, *ADDRESSES = sys.argv[1:]


class EachInTurn(httpx2.AsyncHTTPTransport):
    """Sends each request to the next address, as a proxy without session affinity does."""

    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self.ports = itertools.cycle([urlsplit(address).port for address in addresses])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self.ports))
        tell(sent_to=request.url.port, method=request.method)
        return await super().handle_async_request(request)


def tell(**found: Any) -> None:
    print(json.dumps(found), flush=True)


async def open_link(context: Any, params: Any) -> ElicitResult:
    tell(link=params.url, mode=params.mode)
    return ElicitResult(action="accept")


async def call(client: Client, name: str, tool: str, arguments: dict[str, Any], **more: Any) -> None:
    async def progress(step: float, total: float | None, message: str | None) -> None:
        tell(progress=step, words=message)

    try:
        if more.pop("one_round", False):
            result = await client.session.call_tool(tool, arguments, allow_input_required=True, **more)
        else:
            result = await client.call_tool(tool, arguments, progress_callback=progress, **more)
    except Exception as error:
        tell(name=name, failed=f"{type(error).__name__}: {error}")
        return
    if isinstance(result, InputRequiredResult):
        tell(name=name, state=result.request_state)
        return
    (block,) = result.content
    tell(name=name, error=bool(result.is_error), text=block.text, structured=result.structured_content)


async def main() -> None:
    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=httpx2.Timeout(30, read=300),
        transport=EachInTurn(ADDRESSES),
    )
    transport = streamable_http_client(f"{ADDRESSES[0]}/mcp", http_client=http)
    async with Client(transport, mode=MODE, elicitation_callback=open_link) as client, asyncio.TaskGroup() as group:
        tools = (await client.list_tools()).tools
        tell(version=client.protocol_version, tools=[tool.name for tool in tools])
        while line := await asyncio.to_thread(sys.stdin.readline):
            group.create_task(call(client, **json.loads(line)))


asyncio.run(main())
