#!/usr/bin/env bash
# Agno: a tool hook is called with the arguments of a call and passes them on with `function(**arguments)`, as in the documentation. Here a hook
# lowers the amount of a payment, as a person has decided.
# Guess: the tool runs with the arguments that the hook passes on, wherever the hook stands in `tool_hooks`, and a hook that can't run is an error.
# Seen: what a hook passes on is dropped: the tool runs with the model's arguments. Only a change in place (`arguments["amount"] = 1`)
# counts, and only by the first hook: the others change a copy. If the call has no arguments, the first hook has a copy, too. In
# `agent.run`, a hook that is `async def` is left out with a warning in the log, and the tool runs.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check agno==3.1.10
cd "$folder"
AGNO_TELEMETRY=false venv/bin/python - <<'PYTHON'
import asyncio
import json
from importlib.metadata import version

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.utils.log import logger

logger.disabled = True
paid = []


def pay(amount: int = 100) -> str:
    """Pay."""
    paid.append(amount)
    return "paid"


class OneCall(Model):
    """A model that calls the tool once, and ends when it has a result."""

    def __init__(self, arguments):
        super().__init__(id="scripted")
        self.arguments = arguments

    def invoke(self, messages, **settings):
        if any(message.role == "tool" for message in messages):
            return ModelResponse(role="assistant", content="done")
        function = {"name": "pay", "arguments": json.dumps(self.arguments)}
        return ModelResponse(role="assistant", tool_calls=[{"id": "1", "type": "function", "function": function}])

    async def ainvoke(self, messages, **settings):
        return self.invoke(messages)

    def invoke_stream(self, messages, **settings):
        yield self.invoke(messages)

    async def ainvoke_stream(self, messages, **settings):
        yield self.invoke(messages)

    def _parse_provider_response(self, response, **settings):
        return response

    _parse_provider_response_delta = _parse_provider_response


def passes_on(function, arguments):
    return function(**{**arguments, "amount": 1})


def in_place(function, arguments):
    arguments["amount"] = 1
    return function(**arguments)


def other(function, arguments):
    return function(**arguments)


async def refuses(function, arguments):
    return "A person has rejected this."


def amounts(*hooks, arguments=None, in_loop=False):
    """Return the amounts that the tool has paid in a run with these hooks."""
    paid.clear()
    agent = Agent(model=OneCall({"amount": 100} if arguments is None else arguments), tools=[pay], tool_hooks=list(hooks))
    if in_loop:
        asyncio.run(agent.arun("Pay"))
    else:
        agent.run("Pay")
    return list(paid)


print("agno", version("agno"))
seen = {
    "passes on": amounts(passes_on),
    "in place": amounts(in_place),
    "in place, second": amounts(other, in_place),
    "in place, no arguments": amounts(in_place, arguments={}),
    "refuses, arun": amounts(refuses, in_loop=True),
    "refuses, run": amounts(refuses),
}
print("expected [1] of the first four and [] of the others; seen", seen)
assert list(seen.values()) == [[100], [1], [100], [100], [], [100]]
PYTHON
