"""Every way to ask for an approval and to wait for it, as the programs behind them do; the real ones have tests of their own.

Each returns whether the call may run.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

from pausepoint import Desk

from tests.support.machine import Remote
from tests.support.processes.server import PATIENCE


def rest(remote: Remote, tool: str) -> bool:
    """`POST /requests`, and `GET` with `?wait=`."""
    found = remote.ask(tool_name=tool)
    while found["status"] == "pending":
        found = remote.send("GET", f"/requests/{found['id']}?wait=60").body
    return bool(found["status"] == "approved")


def client(remote: Remote, tool: str) -> bool:
    """The Python client."""
    with Desk(remote.server.address, remote.key) as desk:
        return desk.await_human("Refund?", tool_name=tool, input={"amount": 120}).approved


def mcp(remote: Remote, tool: str) -> bool:
    """Call `request_approval` as an MCP client, and `check_request` until it is decided."""
    found = call_tool(remote, "request_approval", action=tool, input={"amount": 120})
    if found["status"] == "pending":
        found = _ended(remote, found["request_id"])
    return bool(found["status"] == "approved")


def claude_code(remote: Remote, tool: str) -> bool:
    """A hook of Claude Code."""
    return _hook(remote, "claude-code", tool, prompt_id="p")


def codex(remote: Remote, tool: str) -> bool:
    """A hook of Codex."""
    return _hook(remote, "codex", tool, turn_id="t", model="m")


def check(remote: Remote, request: str) -> str:
    """Return the decider of a request, from `check_request` of an MCP client."""
    return str(_ended(remote, request)["by"])


def call_tool(remote: Remote, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool of the MCP endpoint; return the structured content of the result."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    both = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    connection = HTTPConnection("127.0.0.1", remote.server.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {remote.key}", "Content-Type": "application/json", **both}
    connection.request("POST", "/mcp", json.dumps(message), headers)
    text = connection.getresponse().read().decode()
    connection.close()
    (*_, last) = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith(("data: {", "{"))]
    found: dict[str, Any] = json.loads(last)["result"]["structuredContent"]
    return found


def _ended(remote: Remote, request: str) -> dict[str, Any]:
    """Return the result of `check_request` once the request has ended."""
    while (found := call_tool(remote, "check_request", request_id=request))["status"] == "pending":
        continue
    return found


def _hook(remote: Remote, agent: str, tool: str, **more: str) -> bool:
    call = {"tool_name": tool, "tool_input": {"amount": 120}, "tool_use_id": f"{agent}-{tool}", "cwd": "/srv"}
    body = {"hook_event_name": "PreToolUse", "session_id": f"session-{tool}", **call, **more}
    answer = remote.send("POST", f"/hooks/{agent}", body).body["hookSpecificOutput"]
    return bool(answer["permissionDecision"] == "allow")
