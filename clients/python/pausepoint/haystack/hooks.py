"""Haystack: a hook that asks people before the tools of an agent run, at the point of the call.

    agent = Agent(chat_generator=..., tools=[...], hooks=DeskHook(Desk(), "refund").hooks)

The process waits. Install with `pip install "pausepoint[haystack]"`.
"""

from __future__ import annotations

import asyncio
import copy
import json
import threading
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from haystack.components.agents import Agent
from haystack.components.agents.state import State
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool, flatten_tools_or_toolsets
from haystack.tools.errors import ToolInvocationError

from pausepoint import calls, gate
from pausepoint.calls import ToolCall
from pausepoint.gate import AnyDesk, Gate, Halted, NotGated, Ruling, Wanted

#: A call of a message, and the request about it.
Pair = tuple[Any, Wanted]


class DeskHook:
    """Asks about all calls of a message that need approval: those of the named tools, or of all tools if none is named.

    The calls run with the approved input once all are decided, and their results are reported. If one is not approved, the model
    is told why; if the policy stops the run, it raises Halted. A tool named in `questions` never runs: a person answers the first
    text of its input, and the answer is its result.
    `thread_id` names the run: a repeated one finds its requests, and a call whose result was reported does not run again. `extra`
    are additional fields of each request. A run raises NotGated if its agent lacks a tool named here, or has a tool that is
    another agent without this hook.
    """

    allowed_hook_points = ("before_tool", "after_tool")

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
        self._runs: WeakKeyDictionary[State, str] = WeakKeyDictionary()
        #: The decided calls of the message whose tools run now.
        self._decided: WeakKeyDictionary[State, list[_Decided]] = WeakKeyDictionary()

    @property
    def hooks(self) -> dict[Any, list[Any]]:
        """Return the hook at its points in the run of an agent."""
        return {point: [self] for point in self.allowed_hook_points}

    def run(self, state: State) -> None:
        """Ask before the tools of a message run; after them, add the words of people to the results."""
        if not state.data["messages"][-1].tool_calls:
            self._add_notes(state)
            return
        desk = gate.blocking(self.gate.desk)
        wanted = self._wanted(state)
        for _, each in wanted:
            # All of them, before it waits for the first one.
            fields: dict[str, Any] = {**each.fields}
            fields.pop("give_up_after", None)
            gate.ask(desk, each.title, fields)
        self._guard(state, wanted, [gate.decided(desk, each) for _, each in wanted])

    async def run_async(self, state: State) -> None:
        """Like `run`, without blocking the event loop."""
        if not state.data["messages"][-1].tool_calls:
            self._add_notes(state)
            return
        wanted = self._wanted(state)
        waiting = (gate.adecided(self.gate.desk, each) for _, each in wanted)
        self._guard(state, wanted, await asyncio.gather(*waiting))

    def _wanted(self, state: State) -> list[Pair]:
        """Return the calls of the last message that need approval, as requests."""
        *earlier, last = state.data["messages"]
        tools = {tool.name: tool for tool in state.data["tools"]}
        self.gate.check(tools)
        self._check_agents(tools.values())
        # Not from `hook_context`: if the agent is a tool, its model can set that.
        thread = self.thread_id or self._runs.setdefault(state, uuid.uuid4().hex)
        made = [_content(call) for message in earlier for call in message.tool_calls]
        wanted = []
        for call in last.tool_calls:
            content = _content(call)
            made.append(content)
            if call.tool_name not in tools or not self.gate.concerns(call.tool_name):
                continue
            # Some models repeat ids, or give none.
            known_by = f"{self.gate.desk.name_of(content)}-{made.count(content)}"
            call_input = calls.readable_input(call.tool_name, call.arguments)
            asked = ToolCall(
                call.tool_name, f"{call.id or ''}:{known_by}", call_input, thread
            )
            schema = tools[call.tool_name].parameters
            wanted.append((call, self.gate.wanted(asked, schema)))
        return wanted

    def _guard(
        self, state: State, wanted: list[Pair], rulings: Iterable[Ruling]
    ) -> None:
        """Let the tools of this message run the approved calls only."""
        decided = [
            _Decided(call, each.call, ruling)
            for (call, each), ruling in zip(wanted, rulings, strict=True)
        ]
        for each in decided:
            if each.ruling.outcome.halted:
                raise Halted(each.ruling.outcome)
        # The agent runs the tools of this list, and makes a new one for the next message.
        tools = state.data["tools"]
        tools[:] = [
            _guarded(tool, self.gate, decided)
            if self.gate.concerns(tool.name)
            else tool
            for tool in tools
        ]
        self._decided[state] = decided

    def _add_notes(self, state: State) -> None:
        decided = self._decided.pop(state, [])
        messages = state.data["messages"]
        for place, message in enumerate(messages):
            result = message.tool_call_result
            each = result and next(
                (each for each in decided if each.message_call == result.origin), None
            )
            if not each:
                continue
            decided.remove(each)
            if each.ruling.note:
                text = calls.output_text(result.result)
                messages[place] = ChatMessage.from_tool(
                    each.ruling.noted(text), result.origin, error=result.error
                )

    def _check_agents(self, tools: Iterable[Tool]) -> None:
        """Raise NotGated if a tool is an agent without this hook that has a tool which needs approval."""
        for tool in tools:
            agent = getattr(tool, "_component", None)
            if not isinstance(agent, Agent) or any(
                isinstance(hook, DeskHook)
                for hook in agent.hooks.get("before_tool", ())
            ):
                continue
            inner = flatten_tools_or_toolsets(agent.tools)
            names = [each.name for each in inner]
            if unasked := sorted(filter(self.gate.concerns, names)):
                raise NotGated(
                    f"The tool {tool.name!r} is an agent of its own, whose calls of {', '.join(map(repr, unasked))} would run "
                    "unasked: hooks are for one agent. Give that agent a DeskHook, too."
                )
            self._check_agents(inner)


@dataclass(slots=True, eq=False)
class _Decided:
    """A call of a message, as asked, and its decision."""

    message_call: Any
    call: ToolCall
    ruling: Ruling
    used: bool = False


def _guarded(tool: Tool, gate_of_tool: Gate, decided: list[_Decided]) -> Tool:
    """Return a copy of a tool that runs its decided calls only, each once and with the approved input."""
    guarded: Any = copy.copy(tool)
    desk, extra = gate_of_tool.desk, gate_of_tool.extra
    lock = threading.Lock()

    def take(values: dict[str, Any]) -> tuple[_Decided, dict[str, Any]]:
        """Return the decided call with these arguments, and those of them that the agent has injected."""
        with lock:
            for each in decided:
                injected = _injected(tool, each.call, values)
                if not each.used and injected is not None:
                    each.used = True
                    return each, injected
        raise NotGated(
            f"A call of {tool.name!r} was not run: it is none of those that people have decided. Make DeskHook the last "
            "hook of `before_tool`."
        )

    def invoke(**values: Any) -> Any:
        each, injected = take(values)
        each.ruling = gate.claimed(gate.blocking(desk), each.ruling, extra)
        if not each.ruling.runs:
            return _known_output(tool, each.ruling)
        arguments = {**injected, **each.ruling.input}
        return gate.run(gate.blocking(desk), each.ruling, tool.invoke, **arguments)

    async def invoke_async(**values: Any) -> Any:
        each, injected = take(values)
        each.ruling = await gate.aclaimed(desk, each.ruling, extra)
        if not each.ruling.runs:
            return _known_output(tool, each.ruling)
        arguments = {**injected, **each.ruling.input}
        return await gate.arun(desk, each.ruling, tool.invoke_async, **arguments)

    guarded.invoke, guarded.invoke_async = invoke, invoke_async
    return guarded


def _injected(
    tool: Tool, call: ToolCall, values: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the arguments that are not those of the model; None if the latter are not those of the call."""
    if call.name != tool.name or not call.input.keys() <= values.keys():
        return None
    properties = set(tool.parameters.get("properties", ()))
    by_model = properties - set((tool.inputs_from_state or {}).values())
    injected = {key: values[key] for key in values.keys() - call.input.keys()}
    same = calls.same_input({key: values[key] for key in call.input}, dict(call.input))
    return injected if same and by_model.isdisjoint(injected) else None


def _known_output(tool: Tool, ruling: Ruling) -> Any:
    if ruling.outcome.halted:
        raise Halted(ruling.outcome)
    if not ruling.succeeded:
        raise ToolInvocationError(calls.output_text(ruling.output), tool.name)
    return ruling.output


def _content(call: Any) -> str:
    return json.dumps([call.id, call.tool_name, call.arguments], sort_keys=True)
