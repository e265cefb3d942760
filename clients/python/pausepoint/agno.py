"""Agno: a tool hook that asks people before tools run, at the point of the call.

    agent = Agent(model=model, tools=[...], tool_hooks=[DeskHook(Desk(), "refund")])

The process waits. Install with `pip install "pausepoint[agno]"`.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from agno.exceptions import RunCancelledException
from agno.tools import Function, Toolkit
from agno.tools.function import ToolResult

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, NotGated, Ruling, logger


class DeskHook:
    """Asks before each call of the named tools, or of all tools if none is named. It is the first hook of its agent.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why. A tool named
    in `questions` never runs: a person answers the first text of its input, and the answer is its result.
    `thread_id` names the run: a repeated one finds its requests, and a call whose result was reported does not run again. Without
    it, the id of the run does. `extra` are additional fields of each request, such as `priority` or `timeout`. Tools that are no
    coroutine functions need a Desk. A run is cancelled if the policy stops it, if its agent lacks a tool named here, or if a
    member of its team has one without this hook.
    """

    def __init__(
        self,
        desk: AnyDesk,
        *tools: str,
        thread_id: str = "",
        questions: Collection[str] = (),
        **extra: Any,
    ) -> None:
        self.gate = Gate(desk, tools, questions, extra)
        self.thread_id = thread_id
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: dict[str, Any],
        agent: Any = None,
        team: Any = None,
        run_context: Any = None,
    ) -> Any:
        """Return the result of the call, or a coroutine for it. A coroutine function would be skipped in runs without a loop."""
        owner = agent or team
        tools = dict(_functions(run_context.tools or owner.tools or ()))
        try:
            self._check(name, owner, tools)
        except NotGated as error:
            logger.error("A call of %s was not run. %s", name, error)
            raise RunCancelledException(str(error)) from error
        if not self.gate.concerns(name):
            return function(**arguments)
        call = self._call(name, arguments, owner, run_context)
        parameters = getattr(tools.get(name), "parameters", None) or {}
        schema = parameters if parameters.get("properties") else None
        if inspect.iscoroutinefunction(function):
            return self._run_later(call, schema, function, arguments)
        ruling = self.gate.decided(call, schema)
        if (refusal := _refusal(ruling, arguments)) is not None:
            gate.release(gate.blocking(self.gate.desk), ruling)
            return refusal
        output = gate.run(gate.blocking(self.gate.desk), ruling, function, **arguments)
        return _noted(output, ruling)

    async def _run_later(
        self, call: ToolCall, schema: Any, function: Any, arguments: dict[str, Any]
    ) -> Any:
        ruling = await self.gate.adecided(call, schema)
        if (refusal := _refusal(ruling, arguments)) is not None:
            await gate.arelease(self.gate.desk, ruling)
            return refusal
        output = await gate.arun(self.gate.desk, ruling, function, **arguments)
        return _noted(output, ruling)

    def _check(self, name: str, owner: Any, tools: dict[str, Any]) -> None:
        """Raise NotGated if this call, or others of the agent or team, would run without asking, or not as approved."""
        if owner.tool_hooks and owner.tool_hooks[0] is not self:
            raise NotGated(
                "A hook that stands before DeskHook keeps the approved input from the tool: make DeskHook the first of "
                "`tool_hooks`."
            )
        if self.gate.concerns(name):
            return
        elsewhere = [each for each, function in tools.items() if function is None]
        self.gate.check({*tools, name}, elsewhere)
        members = getattr(owner, "members", None)
        self._check_members(members if isinstance(members, list) else [])

    def _check_members(self, members: Iterable[Any]) -> None:
        for member in members:
            if any(isinstance(hook, DeskHook) for hook in member.tool_hooks or ()):
                continue
            names = dict(_functions(member.tools or ()))
            if unasked := sorted(filter(self.gate.concerns, names)):
                raise NotGated(
                    f"The member {member.name!r} of the team would run its calls of {', '.join(map(repr, unasked))} unasked: "
                    "hooks are for one agent. Give that agent a DeskHook, too."
                )
            self._check_members(getattr(member, "members", None) or ())

    def _call(
        self, name: str, arguments: dict[str, Any], owner: Any, context: Any
    ) -> ToolCall:
        """Return the call. Agno does not reveal its id: it is identified by the run, its input, and its repeat number."""
        call_input = calls.readable_input(name, arguments)
        run_id, agent = self.thread_id or context.run_id, str(owner.name or "")
        content = json.dumps([run_id, agent, name, call_input], sort_keys=True)
        known_by = self.gate.desk.name_of(content)
        with self._lock:
            self._counts[known_by] += 1
            place = self._counts[known_by]
        thread = self.thread_id or context.session_id
        return ToolCall(name, f"{known_by}-{place}", call_input, thread, agent)


def _refusal(ruling: Ruling, arguments: dict[str, Any]) -> str | None:
    """Return why a call does not run; None if it runs, with the approved input in place of its arguments."""
    if ruling.outcome.halted:
        raise RunCancelledException(ruling.text)
    if not ruling.runs:
        return ruling.text
    if ruling.input and not arguments:
        # Agno calls a tool that has no arguments with an empty dict of its own.
        return f"{ruling.note} It was not run. Make the call again with that input."
    # In place: Agno calls the tool with this dict.
    arguments.clear()
    arguments.update(ruling.input)
    return None


def _noted(output: Any, ruling: Ruling) -> Any:
    if not ruling.note:
        return output
    if isinstance(output, ToolResult):
        output.content = ruling.noted(output.content)
        return output
    return ruling.noted(str(output))


def _functions(tools: Iterable[Any]) -> Iterator[tuple[str, Function | None]]:
    """Yield tools by their names; None for those that the provider of the model runs."""
    for tool in tools:
        if isinstance(tool, Toolkit):
            yield from {**tool.functions, **tool.async_functions}.items()
        elif isinstance(tool, Function):
            yield tool.name, tool
        elif isinstance(tool, dict):
            yield str(tool.get("name") or tool.get("type")), None
        elif callable(tool):
            yield tool.__name__, Function.from_callable(tool)
