#!/usr/bin/env bash
# Agent Client Protocol (Python): an agent tells its client about a tool call (`session_update`), asks for permission to run it, and tells of
# its progress: pending, in progress, completed. The client stores each update in a database before it returns.
# Guess: one message is handled after the other, as they come in over one stream, and as `prompt` suggests, which returns only when all
# updates have been handled. Seen: each message starts as its own task, and only `prompt` waits for them. So the handler for the permission runs
# before the call that it is about is stored, and people are asked about nothing; and of the updates the one whose handler ends last stays:
# the call is "pending" for ever although it has run. With a lock around the handlers (asyncio's are fair), the order is right.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check agent-client-protocol==0.12.1
cd "$folder"
venv/bin/python - <<'PYTHON'
import asyncio
import contextlib
import socket
from importlib.metadata import version

from acp import Agent, Client, InitializeResponse, NewSessionResponse, PromptResponse, RequestPermissionResponse, connect_to_agent
from acp.agent.connection import AgentSideConnection
from acp.helpers import start_tool_call, text_block, update_tool_call
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

#: How many turns of the event loop the database needs for an update: the first one inserts a row, and the last one is quick.
TURNS = {"pending": 900, "in_progress": 600, "completed": 300}


class OneCall(Agent):
    """An agent that makes one call: it tells of it, asks for permission, and runs it."""

    def __init__(self, client):
        self.client = client

    async def initialize(self, protocol_version, **_):
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_):
        return NewSessionResponse(session_id="session")

    async def prompt(self, session_id, **_):
        await self.client.session_update(session_id, start_tool_call("call", "Delete 3 files", status="pending"))
        yes = PermissionOption(option_id="yes", name="Yes", kind="allow_once")
        await self.client.request_permission(session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="call"), options=[yes])
        for status in ("in_progress", "completed"):
            await self.client.session_update(session_id, update_tool_call("call", status=status))
        return PromptResponse(stop_reason="end_turn")


class Storing(Client):
    """A client that stores each update, and asks people about what it has stored."""

    def __init__(self, lock):
        self.lock, self.stored, self.asked = lock, None, None

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **_):
        async with self.lock:
            for _ in range(TURNS[update.status]):
                await asyncio.sleep(0)
            self.stored = update.status

    async def request_permission(self, **_):
        async with self.lock:
            self.asked = self.stored
            return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id="yes"))


async def outcome(lock):
    """Run one prompt; return what was stored of the call when people were asked about it, and in the end."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    AgentSideConnection(OneCall, writer, reader)
    reader, writer = await asyncio.open_connection(sock=ours)
    client = Storing(lock)
    agent = connect_to_agent(client, writer, reader)
    await agent.initialize(protocol_version=1)
    await agent.new_session(cwd="/", mcp_servers=[])
    await agent.prompt(session_id="session", prompt=[text_block("Go")])
    return {"asked about": client.asked, "in the end": client.stored}


async def main():
    return {"plain": await outcome(contextlib.nullcontext()), "with a lock": await outcome(asyncio.Lock())}


seen = asyncio.run(main())
print("agent-client-protocol", version("agent-client-protocol"), "expected pending, then completed; seen", seen)
assert seen == {
    "plain": {"asked about": None, "in the end": "pending"},
    "with a lock": {"asked about": "pending", "in the end": "completed"},
}
PYTHON
