"""`@desk.approve("refund")`: people decide about each call of a Python function, at the point of the call."""

from __future__ import annotations

import functools
import inspect
import json
import threading
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pausepoint import gate
from pausepoint.calls import ToolCall
from pausepoint.desk import AsyncDesk
from pausepoint.gate import AnyDesk, Halted, NotApproved, Wanted

__all__ = ["Halted", "NotApproved", "approved"]

#: JSON Schema types of Python types.
TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}

#: A text, or a function of the arguments that returns one.
Named = str | Callable[..., str]


def approved(
    desk: AnyDesk, name: str, key: Named, thread_id: Named, extra: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return the decorator of `Desk.approve`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(
            function
        ):
            raise TypeError(
                f"{function.__qualname__} is a generator, which runs after it has returned. Return a list."
            )
        gated = _Gated(desk, function, name, key, thread_id, extra)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_later(*values: Any, **named: Any) -> Any:
                ruling = await gate.aclaimed(
                    desk, await gate.adecided(desk, gated.wanted(values, named)), extra
                )
                return await gate.arun(desk, ruling, gated.call, ruling.input)

            return run_later
        if isinstance(desk, AsyncDesk):
            raise TypeError(
                f"{function.__qualname__} is not a coroutine function: give it a Desk, or make it `async def`."
            )

        @functools.wraps(function)
        def run(*values: Any, **named: Any) -> Any:
            ruling = gate.claimed(
                desk, gate.decided(desk, gated.wanted(values, named)), extra
            )
            return gate.run(desk, ruling, gated.call, ruling.input)

        return run

    return decorate


class _Gated:
    """A function whose calls need approval, with its arguments as the input of a tool."""

    def __init__(
        self,
        desk: AnyDesk,
        function: Callable[..., Any],
        name: str,
        key: Named,
        thread_id: Named,
        extra: Mapping[str, Any],
    ) -> None:
        self.desk, self.function, self.name = desk, function, name
        self.key, self.thread_id, self.extra = key, thread_id, extra
        self.signature = inspect.signature(function)
        kinds = {parameter.kind for parameter in self.signature.parameters.values()}
        if kinds & {
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.POSITIONAL_ONLY,
        }:
            raise TypeError(
                f"{function.__qualname__} has arguments without a name, which people could not be shown."
            )
        self.schema = _schema(function, self.signature)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def wanted(self, values: tuple[Any, ...], named: dict[str, Any]) -> Wanted:
        """Return a request for a call of the function."""
        bound = self.signature.bind(*values, **named)
        bound.apply_defaults()
        arguments: dict[str, Any] = {}
        for parameter in self.signature.parameters.values():
            value = bound.arguments[parameter.name]
            arguments |= (
                value
                if parameter.kind is parameter.VAR_KEYWORD
                else {parameter.name: value}
            )
        try:
            text = json.dumps(arguments, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"People can be asked about {self.name} only if its arguments are JSON: {error}"
            ) from error
        key, thread = (
            each(**arguments) if callable(each) else each
            for each in (self.key, self.thread_id)
        )
        call = ToolCall(
            self.name, key or self._place(thread, text), json.loads(text), thread
        )
        return Wanted(call, question=False, extra=self.extra, schema=self.schema)

    def call(self, arguments: Mapping[str, Any]) -> Any:
        return self.function(**arguments)

    def _place(self, thread: str, content: str) -> str:
        """Return the identity of a call without a key within its thread: its input, and its repeat number."""
        if not thread:
            return ""
        with self._lock:
            self._counts[thread, content] += 1
            count = self._counts[thread, content]
        return f"{self.desk.name_of(json.dumps([self.name, content]))}-{count}"


def _schema(
    function: Callable[..., Any], signature: inspect.Signature
) -> dict[str, Any]:
    """Return the JSON Schema of a function's arguments, as far as they are annotated."""
    hints = typing.get_type_hints(function)
    parameters = signature.parameters.values()
    named = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
    return {
        "type": "object",
        "properties": {each.name: _type_schema(hints.get(each.name)) for each in named},
        "required": [each.name for each in named if each.default is each.empty],
        "additionalProperties": len(named) < len(parameters),
    }


def _type_schema(hint: Any) -> dict[str, Any]:
    origin, within = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(within)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_type_schema(each) for each in within]}
    if hint is type(None):
        return {"type": "null"}
    if origin is list:
        return {"type": "array", "items": _type_schema(within[0])}
    kind = TYPES.get(origin or hint)
    return {"type": kind} if kind else {}
