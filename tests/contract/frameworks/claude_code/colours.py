"""An MCP server over stdio that asks its user for a colour in the middle of a call, as its protocol of 2025-06-18 does."""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]}},
    "required": ["colour"],
}
TOOL = {"name": "pick", "description": "Pick a colour", "inputSchema": {"type": "object", "properties": {}}}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    call = None
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                about = {"name": "colours", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
                send(id=message["id"], result=result)
            case "tools/list":
                send(id=message["id"], result={"tools": [TOOL]})
            case "tools/call":
                call = message["id"]
                asked = {"message": "Which colour do you like?", "requestedSchema": SCHEMA}
                send(id="asked", method="elicitation/create", params=asked)
            case None if message.get("id") == "asked":
                told = json.dumps(message.get("result"))
                send(id=call, result={"content": [{"type": "text", "text": told}]})
            case str() if "id" in message:
                send(id=message["id"], error={"code": -32601, "message": "unknown"})


main()
