#!/usr/bin/env bash
# Semantic Kernel (Python): a filter for function calls asks people, who see the arguments, and then calls `next`. The model writes a boolean as
# text ("false"), as models do and as forms and templates do too, or a whole number with a fraction.
# Guess: the schema that the model was given is checked, so this is an error, or text becomes the value that it names, as pydantic reads it. Seen: a
# value is passed to the type of the parameter, and `bool("false")` is true: people read `everything: "false"`, approve, and everything is
# canceled. "no" and "0" are true, too. `int` cuts off, so an approved 19.99 is paid as 19, and true is 1; a null for a text becomes "None". The
# filter sees the earlier values also after the call. Only what a type can't read at all is an error, such as "19.99" for `int`.
# Known for booleans: https://github.com/microsoft/semantic-kernel/pull/14163
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check semantic-kernel==1.45.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import asyncio
import json
import logging
from importlib.metadata import version

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.contents import ChatHistory, FunctionCallContent
from semantic_kernel.filters import FilterTypes
from semantic_kernel.functions import kernel_function

logging.disable(logging.CRITICAL)
ran = []


class Orders:
    @kernel_function
    def cancel(self, refund: int, everything: bool = False, note: str = "") -> str:
        """Cancel an order, or every order of a customer."""
        ran.append({"refund": refund, "everything": everything, "note": note})
        return "canceled"


async def outcome(**arguments):
    """Make one call as a model does; return what people have seen before and after it, and what has run."""
    ran.clear()
    seen = []
    kernel = Kernel()
    kernel.add_plugin(Orders(), "orders")

    @kernel.filter(FilterTypes.AUTO_FUNCTION_INVOCATION)
    async def ask(context, next):
        seen.append(dict(context.arguments))
        await next(context)
        seen.append(dict(context.arguments))

    call = FunctionCallContent(id="1", name="orders-cancel", arguments=json.dumps(arguments))
    await kernel.invoke_function_call(call, ChatHistory(), function_behavior=FunctionChoiceBehavior.Auto())
    assert seen[:1] == [arguments] and seen[1:] in ([], [arguments]), seen
    return {name: ran[0][name] for name in arguments} if ran else "error"


async def main():
    parameters = {each.name: each.schema_data["type"] for each in Kernel().add_plugin(Orders(), "orders")["cancel"].parameters}
    assert parameters == {"refund": "integer", "everything": "boolean", "note": "string"}, parameters
    calls = [
        {"refund": 5, "everything": False},
        {"refund": 5, "everything": "false"},
        {"refund": 5, "everything": "no"},
        {"refund": 5, "everything": "0"},
        {"refund": 19.99},
        {"refund": True},
        {"refund": "19.99"},
        {"refund": 5, "note": None},
    ]
    return [(call, await outcome(**call)) for call in calls]


seen = asyncio.run(main())
print("semantic-kernel", version("semantic-kernel"), "approved, and ran:")
for approved, run in seen:
    print(" ", approved, "->", run)
assert [run for _, run in seen] == [
    {"refund": 5, "everything": False},
    {"refund": 5, "everything": True},
    {"refund": 5, "everything": True},
    {"refund": 5, "everything": True},
    {"refund": 19},
    {"refund": 1},
    "error",
    {"refund": 5, "note": "None"},
]
# 1 and True are equal.
assert seen[5][1]["refund"] is not True
PYTHON
