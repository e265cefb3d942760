"""Bodies that no client should send, the same ones each time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.approvals.api.mcp.agent import MODERN, PREFIX, QUESTION, REFUND, WRITE, Response

#: Values that fit nowhere.
ODD: list[Any] = [None, True, False, 0, -1, 2**53, 1e308, "", " ", "\x00", "\ud800", "é" * 300, "x" * 5000, [], {}, [[]],
                  {"": {}}, {"__proto__": 1}, [None] * 50, "../..", "<script>", "%s%n", {"$ref": "#"}, "9" * 400]  # fmt: skip
METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "server/discover",
    "notifications/cancelled",
    "prompts/get",
    "",
]
CALLS = {
    "ask_human": {**QUESTION, "options": ["red"], "response_schema": {"type": "string"}, "timeout_seconds": 5},
    "request_approval": {**REFUND, "reason": "", "risk": "low"},
    "check_request": {"request_id": "00000000-0000-4000-8000-000000000000"},
    "report_result": {"request_id": "00000000-0000-4000-8000-000000000000", "output": 1},
    "permission": WRITE,
}


def hostile_bodies(count: int) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Bodies with their headers: whole calls with a wrong value in one place, or cut ones."""
    chance = random.Random(2026)  # noqa: S311 - not for secrets
    for _ in range(count):
        message, modern = _message(chance), chance.random() < 0.6
        headers = {"accept": "application/json, text/event-stream"}
        if modern:
            meta = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {"elicitation": {"url": {}}}}
            message["params"]["_meta"] = meta
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
            headers |= {"mcp-name": message["params"]["name"]} if "name" in message["params"] else {}
        _spoil(message, chance)
        body = json.dumps(message).encode()
        yield (body[: chance.randrange(len(body))] if chance.random() < 0.1 else body), headers


def _message(chance: random.Random) -> dict[str, Any]:
    method = chance.choice([*METHODS, *["tools/call"] * 8])
    params: dict[str, Any] = {}
    if method == "tools/call":
        name = chance.choice(list(CALLS))
        params = {"name": name, "arguments": dict(CALLS[name])}
    return {"jsonrpc": "2.0", "id": chance.choice([1, "a", 0, -5]), "method": method, "params": params}


def _spoil(value: dict[str, Any], chance: random.Random) -> None:
    """Put something odd in one place of the message, at any depth, or take something away."""
    place: dict[str, Any] = value
    name = chance.choice(list(place))
    while isinstance(place[name], dict) and place[name] and chance.random() < 0.8:
        place = place[name]
        name = chance.choice(list(place))
    if chance.random() < 0.15:
        del place[name]
    elif chance.random() < 0.15:
        place[chance.choice(["requestState", "inputResponses", "extra", "input"])] = chance.choice(ODD)
    else:
        place[name] = chance.choice(ODD)


def was_taken(response: Response) -> bool:
    """Whether a tool has done its work, also if the request now waits."""
    last = response.messages[-1] if response.answer.text else {}
    return "result" in last and "isError" not in last["result"]


def problem_of(response: Response) -> str:
    """Why an answer is not in the form of the protocol; empty if it is."""
    status = response.answer.status
    if status == 202:
        return "an accepted message has a body" if response.answer.text else ""
    if status not in {200, 400, 404, 406}:
        return f"status {status}"
    last = response.messages[-1]
    if last.get("jsonrpc") != "2.0" or "id" not in last or ("result" in last) == ("error" in last):
        return "no response of JSON-RPC"
    if "result" in last and status != 200:
        return "a result that is no 200"
    return "an internal error" if "error" in last and last["error"]["code"] == -32603 else ""
