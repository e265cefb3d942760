"""CrewAI: asks people before tools run, and answers `@human_feedback` with people's feedback.

    ask_before_tools(desk, "refund", thread_id="order-4711")
    flow_config.hitl_provider = DeskFeedback(desk)

The process waits. Install with `pip install "pausepoint[crewai]"`.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from crewai.hooks import (
    ToolCallHookContext,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)
from crewai.utilities.string_utils import sanitize_tool_name

from pausepoint import gate
from pausepoint.calls import ToolCall
from pausepoint.crewai_feedback import DeskFeedback, NobodyAnswered, TwoAtOnce, text_of
from pausepoint.desk import Desk
from pausepoint.gate import Gate, NotGated, Ruling, logger

__all__ = [
    "DeskFeedback",
    "NobodyAnswered",
    "ToolError",
    "TwoAtOnce",
    "ask_before_tools",
]

#: CrewAI's text for the model in place of the result of a tool that raised an error or did not run.
FAILED = re.compile(
    r"\s*(?:Error executing tool: |I encountered an error while trying to use the tool\. This was the error: "
    r"|(?=Tool '.{1,200}' has reached its (?:maximum )?usage limit)|(?=Tool not found\Z))"
)
#: Tools that CrewAI adds by itself to agents that may delegate.
ADDED = frozenset({"delegate_work_to_coworker", "ask_question_to_coworker"})


def ask_before_tools(
    desk: Desk,
    *tools: str,
    thread_id: str,
    questions: Collection[str] = (),
    **extra: Any,
) -> Callable[[], None]:
    """Ask before each call of the named tools, or of all tools if none is named, in all crews of this process.

    The call runs with the approved input, and its result is reported. If it is not approved, the model is told why. A call whose
    result was reported in an earlier run does not run again: the model gets that result. A tool named in `questions` never runs:
    a person answers the first text of its input, and the answer is its result.
    `thread_id` names the run: CrewAI does not reveal the ids of calls, so a call is identified by the run, its input, and its
    repeat number. `extra` are additional fields of each request, such as `priority` or `timeout`. Call the returned function to
    stop asking. While a crew lacks a tool named here, calls that need no one's approval are refused.
    """
    # In its hooks, CrewAI names the tool "Send Mail" `send_mail`; a name that matches no call would never ask.
    names, question_names = (
        frozenset(map(sanitize_tool_name, group)) for group in (tools, questions)
    )
    hooks = _Hooks(Gate(desk, names, question_names, extra), desk, thread_id)
    register_before_tool_call_hook(hooks.before)
    register_after_tool_call_hook(hooks.after)

    def stop() -> None:
        unregister_before_tool_call_hook(hooks.before)
        unregister_after_tool_call_hook(hooks.after)

    return stop


class ToolError(Exception):
    """The error of a tool, of which CrewAI reveals only the text."""


class _Hooks:
    def __init__(self, gate: Gate, desk: Desk, thread_id: str) -> None:
        self.gate, self.desk, self.thread_id = gate, desk, thread_id
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        #: Decisions about calls that have not ended, by the `id()` of their input, which is kept alive for that.
        self._decided: dict[int, tuple[dict[str, Any], Ruling | str]] = {}

    def before(self, context: ToolCallHookContext) -> bool | None:
        """Ask; False blocks the call. CrewAI would run the call if an error left this method."""
        name = context.tool_name
        try:
            if not self.gate.concerns(name):
                self._check(context)
                return None
            decided: Ruling | str = self.gate.decided(
                self._call(context), _schema(context)
            )
        except NotGated as error:
            logger.error("A call of %s was not run. %s", name, error)
            decided = f"This call was not run. {error}"
        except Exception as error:
            logger.exception(
                "No one could be asked about a call of %s, so it was not run.", name
            )
            decided = f"No one could be asked about this call, so it was not run: {type(error).__name__}."
        if isinstance(decided, Ruling) and not decided.runs:
            decided = decided.text
        with self._lock:
            self._decided[id(context.tool_input)] = (context.tool_input, decided)
        if isinstance(decided, str):
            return False
        # In place: CrewAI calls the tool with this dict.
        context.tool_input.clear()
        context.tool_input.update(decided.input)
        return None

    def after(self, context: ToolCallHookContext) -> str | None:
        """Report the result, or tell the model why there is none."""
        with self._lock:
            _, decided = self._decided.pop(id(context.tool_input), (None, None))
        if decided is None or isinstance(decided, str):
            return decided
        raw = getattr(context, "raw_tool_result", None)
        result = context.tool_result if raw is None else raw
        error = (
            ToolError(result[failed.end() :])
            if isinstance(result, str) and (failed := FAILED.match(result))
            else None
        )
        gate.ended(self.desk, decided, output=result, error=error)
        _uncache(context, decided)
        return decided.noted(str(context.tool_result)) if decided.note else None

    def _check(self, context: ToolCallHookContext) -> None:
        """Raise NotGated if the crew lacks a named tool: this call may be the one that was meant."""
        crew, agent = context.crew, context.agent
        agents = [*(crew.agents if crew else ()), *([agent] if agent else ())]
        names = {
            context.tool_name,
            *_tool_names([*agents, *(crew.tasks if crew else ())]),
        } | self._added()
        if (
            not names <= self.gate.known
            and not self.gate.names | self.gate.questions <= names
        ):
            # An agent that has not begun yet may get them.
            names.update(
                name
                for each in agents
                if each is not agent
                for name in _fetched_names(each)
            )
        self.gate.check(names)

    def _added(self) -> frozenset[str]:
        return ADDED & (self.gate.names | self.gate.questions)

    def _call(self, context: ToolCallHookContext) -> ToolCall:
        wanted = dict(context.tool_input)
        content = self.desk.name_of(text_of([context.tool_name, wanted]))
        with self._lock:
            self._counts[content] += 1
            known_by = f"{content}-{self._counts[content]}"
        agent = str(getattr(context.agent, "role", None) or "").strip()
        return ToolCall(context.tool_name, known_by, wanted, self.thread_id, agent)


def _tool_names(holders: list[Any]) -> Iterator[str]:
    """Yield the names of the tools of agents and tasks, including those that an agent has got for its task."""
    for holder in holders:
        executor = getattr(holder, "agent_executor", None)
        for tools in (
            getattr(holder, "tools", None),
            getattr(executor, "tools", None),
            getattr(executor, "original_tools", None),
        ):
            yield from (sanitize_tool_name(tool.name) for tool in tools or ())


def _fetched_names(agent: Any) -> Iterator[str]:
    """Yield the names of the tools that an agent gets from MCP servers and apps when it begins."""
    for kind, fetch in (("mcps", "get_mcp_tools"), ("apps", "get_platform_tools")):
        if sources := getattr(agent, kind, None):
            yield from (
                sanitize_tool_name(tool.name) for tool in getattr(agent, fetch)(sources)
            )


def _uncache(context: ToolCallHookContext, ruling: Ruling) -> None:
    """Remove the result of an approved call from CrewAI's cache: the next equal call needs an approval too."""
    executor = getattr(context.agent, "agent_executor", None)
    for holder in (context.agent, executor):
        if cache := getattr(getattr(holder, "tools_handler", None), "cache", None):
            # CrewAI caches a changed call by either input, depending on the version.
            for arguments in (ruling.input, ruling.outcome.document.get("input")):
                cache.add(
                    tool=context.tool_name,
                    input=json.dumps(arguments) if arguments else "",
                    output=None,
                )


def _schema(context: ToolCallHookContext) -> dict[str, Any] | None:
    """Return the JSON Schema of a tool's arguments, if available."""
    try:
        schema: dict[str, Any] = context.tool.args_schema.model_json_schema()
    except Exception:
        # For example, a tool that CrewAI does not reveal, or a type that JSON Schema does not have.
        return None
    return schema
