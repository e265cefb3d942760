"""Examples for the API page: how to call an operation with curl and with Python."""

from __future__ import annotations

import json
import re
import shlex

from approvals.json_types import JsonMapping

#: Environment variables that the examples read.
KEY = "PAUSEPOINT_KEY"
PLACEHOLDER = re.compile(r"{(\w+)}")


def curl(method: str, address: str, body: JsonMapping | None) -> str:
    """Return a command line. Ids in the address are shell variables, such as `$REQUEST_ID`."""
    address = PLACEHOLDER.sub(lambda match: f"${match[1].upper()}", address)
    lines = [f'curl -X {method} "{address}"', f'-H "Authorization: Bearer ${KEY}"']
    if body is not None:
        lines += [
            '-H "Content-Type: application/json"',
            f"-d {shlex.quote(json.dumps(body))}",
        ]
    return " \\\n  ".join(lines)


def python(method: str, address: str, body: JsonMapping | None) -> str:
    """Return lines of Python, with httpx. Ids in the address are variables, such as `request_id`."""
    formatted = "f" if PLACEHOLDER.search(address) else ""
    lines = ["import os", "", "import httpx", "", f"answer = httpx.{method.lower()}("]
    lines.append(f'    {formatted}"{address}",')
    lines.append(
        f'    headers={{"Authorization": f"Bearer {{os.environ[\'{KEY}\']}}"}},'
    )
    if body is not None:
        lines.append(f"    json={body!r},")
    return "\n".join([*lines, ")", "answer.raise_for_status()", "print(answer.json())"])
