"""An MCP client in this process: raw messages, so that tests can send ones that no library would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from approvals import actions
from approvals.asking.answers import Answer as Given
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from tests.support.machines import Answer, Machine, machine, together

ADDRESS = "/mcp"
ACCEPT = {"accept": "application/json, text/event-stream"}
PREFIX = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
QUESTION = {"question": "Which colour?"}
REFUND = {"action": "refund", "input": {"order": "4711", "amount": 250}}
WRITE = {"tool_name": "Write", "input": {"path": "a.txt"}, "tool_use_id": "toolu_1"}


@dataclass(frozen=True)
class Response:
    """The HTTP response to one message, and the messages in it."""

    answer: Answer

    @property
    def messages(self) -> list[dict[str, Any]]:
        if self.answer.headers["content-type"] != "text/event-stream":
            return [self.answer.json]
        lines = self.answer.text.splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]

    @property
    def result(self) -> dict[str, Any]:
        last = self.messages[-1]
        assert "result" in last, last
        return dict(last["result"])

    @property
    def value(self) -> Any:
        """The JSON in the only text block of a tool's result."""
        (block,) = self.result["content"]
        assert block["type"] == "text"
        return json.loads(block["text"])

    @property
    def outcome(self) -> dict[str, Any]:
        """The same, for tools whose result also has structured content."""
        assert self.result["structuredContent"] == self.value
        assert "isError" not in self.result
        return dict(self.value)

    @property
    def refusal(self) -> str:
        """The words of a tool's error."""
        assert self.result["isError"] is True, self.result
        (block,) = self.result["content"]
        return str(block["text"])

    @property
    def error(self) -> tuple[int, int, Any]:
        """The HTTP status, the code and the id of an error of the protocol."""
        (message,) = self.messages
        assert set(message) == {"jsonrpc", "id", "error"}
        return self.answer.status, message["error"]["code"], message["id"]


class Agent:
    """A client of one of the two eras. `links` is whether its person can be sent to a page."""

    def __init__(self, user: User, *scopes: str, modern: bool = True, links: bool = False) -> None:
        self.machine = machine(user, *(scopes or ("ask", "read")))
        self.modern, self.links = modern, links

    def send(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Response:
        return together(self.asend(method, params, **more))[0]

    def call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Response:
        return together(self.acall(tool, arguments, **more))[0]

    async def acall(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Response:
        meta = more.pop("meta", {})
        return await self.asend("tools/call", {"name": tool, "arguments": arguments, **more, "_meta": meta})

    async def asend(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Response:
        body, headers = self.message(method, params or {}, **more)
        return Response(await self.machine.acall("POST", ADDRESS, body, headers=headers))

    def message(self, method: str, params: Mapping[str, Any], **more: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """A message and its headers, as the client's era has them."""
        meta, headers = {**params.get("_meta", {})}, dict(ACCEPT)
        if self.modern:
            capabilities = {"elicitation": {"form": {}, **({"url": {}} if self.links else {})}}
            meta |= {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": capabilities}
            meta |= {f"{PREFIX}clientInfo": {"name": "test client", "version": "1"}}
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
            headers |= {"mcp-name": params["name"]} if "name" in params else {}
        else:
            headers["mcp-protocol-version"] = "2025-11-25"
        return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}, **more}, headers


def anonymous() -> Machine:
    return Machine()


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.select_related("workflow", "decision").get()


def decide(by: User, verdict: Verdict, **said: Any) -> None:
    """Decide the only request on its page."""
    actions.decide(only().pk, Given(verdict, **said), by=by, via=Door.DASHBOARD)
