#!/usr/bin/env bash
# FastMCP: a server has the `ResponseCachingMiddleware` and a tool that asks a person before it pays. The tool is annotated as one that
# changes things, and a program calls it twice with the same input, each time on a new connection.
# Guess: calls that ask a person are not cached, so each call asks. Seen: true if the tool asks with an `InputRequiredResult`
# (connections of the newest protocol). If it asks with `ctx.elicit` (connections of older clients), people are asked once: after a yes the
# second call does not run and returns the result of the first one, and after a no it is declined without a question. A client that asks again and
# again for the status of a request, through a proxy with this middleware, always gets the first one.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastmcp==4.2.3 mcp==2.3.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
from importlib.metadata import version

from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.server import create_proxy
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

FIELD = {"type": "object", "properties": {"value": {"type": "boolean"}}, "required": ["value"]}
asked, paid, answers = [], [], []


async def person(message, response_type, params, context):
    asked.append(message)
    action = answers.pop(0)
    return ElicitResult(action=action, content={"value": True} if action == "accept" else None)


def pay(amount, action):
    if action != "accept":
        return "Declined"
    paid.append(amount)
    return f"Payment {len(paid)}"


async def pay_with_elicit(amount: int, ctx: Context) -> str:
    return pay(amount, (await ctx.elicit(f"Pay {amount}?", response_type=bool)).action)


async def pay_with_input_required(amount: int, ctx: Context):
    if ctx.input_responses:
        return pay(amount, ctx.input_responses["pay"].action)
    question = ElicitRequestFormParams(message=f"Pay {amount}?", requested_schema=FIELD)
    return InputRequiredResult(input_requests={"pay": ElicitRequest(params=question)})


async def outcome(function, mode, *actions):
    """Call the tool twice; return both results, how often people were asked, and how often the tool paid."""
    asked.clear(), paid.clear()
    answers[:] = actions
    server = FastMCP("Bank", middleware=[ResponseCachingMiddleware()])
    server.tool(function, name="pay", annotations={"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False})
    results = []
    for _ in actions:
        async with Client(server, mode=mode, elicitation_handler=person) as client:
            results.append((await client.call_tool("pay", {"amount": 5})).content[0].text)
    return results, len(asked), len(paid)


async def statuses(**settings):
    """Return what three calls of a tool return through a proxy, while the request is approved after the first one."""
    desk, left = FastMCP("Desk"), ["approved", "approved", "pending"]
    desk.tool(lambda request_id: left.pop(), name="check_request")
    proxy = create_proxy(desk)
    proxy.add_middleware(ResponseCachingMiddleware(**settings))
    async with Client(proxy) as client:
        return [(await client.call_tool("check_request", {"request_id": "7"})).content[0].text for _ in range(3)]


async def main():
    old = [await outcome(pay_with_elicit, "legacy", first, "accept") for first in ("accept", "decline")]
    new = [await outcome(pay_with_input_required, "auto", first, "accept") for first in ("accept", "decline")]
    cached, fresh = await statuses(), await statuses(call_tool_settings={"enabled": False})
    print("fastmcp", version("fastmcp"), "elicit:", old, "input required:", new, "statuses:", cached, fresh)
    assert old == [(["Payment 1", "Payment 1"], 1, 1), (["Declined", "Declined"], 1, 0)]
    assert new == [(["Payment 1", "Payment 2"], 2, 2), (["Declined", "Payment 1"], 2, 1)]
    assert (cached, fresh) == (["pending"] * 3, ["pending", "approved", "approved"])


asyncio.run(main())
PYTHON
