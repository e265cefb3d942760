"""Observe tool results in an OpenAI Agents run: the SDK turns their errors into texts for the model."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Protocol

from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    RunHooks,
    default_tool_error_function,
)
from agents.lifecycle import RunHooksBase
from agents.run_config import ToolErrorFormatterArgs
from agents.tool import (
    default_tool_timeout_error_message,
    resolve_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)

#: Context attribute of a call for the error of its tool, until the call ends.
ERROR = "_pausepoint_error"


class Watcher(Protocol):
    """A receiver of notifications about calls."""

    def began(self, call_id: str, name: str) -> None: ...

    async def ended(
        self, call_id: str, output: Any, error: BaseException | None = None
    ) -> None: ...


#: The watcher for calls of agents that are tools of the agent running in this context.
_WATCHER: ContextVar[Watcher | None] = ContextVar("pausepoint_watcher", default=None)


@contextlib.contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Notify a watcher about the calls of watched agents in runs that begin in this block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def watch_agent(agent: Agent[Any]) -> None:
    """Make an agent notify the run's watcher about its calls. An agent as a tool runs without the hooks of that run."""
    if not isinstance(agent.hooks, _AgentHooks):
        agent.hooks = _AgentHooks(agent.hooks or AgentHooks[Any]())


def watched(watcher: Watcher, run: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run with a watcher on its calls; its own hooks and formatter keep working."""
    hooks, config = run.get("hooks"), run.get("run_config")
    if hooks is not None and not isinstance(hooks, RunHooksBase):
        # The SDK reports the problem with them.
        return run
    if config is None or isinstance(config, dict):
        config = dict(config or {})
        config["tool_error_formatter"] = _Formatter(config.get("tool_error_formatter"))
    else:
        config = copy.copy(config)
        config.tool_error_formatter = _Formatter(config.tool_error_formatter)
    return {
        **run,
        "hooks": _Hooks(watcher, hooks or RunHooks[Any]()),
        "run_config": config,
    }


class _Formatter:
    """Keeps the error of a tool without its own error handler, which the SDK passes to nothing else."""

    def __init__(self, formatter: Any) -> None:
        self.formatter = formatter

    def __call__(self, args: ToolErrorFormatterArgs[Any]) -> Any:
        if args.kind == "tool_exception":
            setattr(args.run_context, ERROR, args.error)
        return self.formatter(args) if self.formatter else None


class _Handler:
    """Keeps the error of a tool with its own error handler."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    async def __call__(self, context: Any, error: Exception) -> str:
        setattr(context, ERROR, error)
        text = self.handler(context, error)
        return str(await text if inspect.isawaitable(text) else text)


class _Hooks(RunHooks[Any]):
    """Notifies the watcher when calls begin and end, and forwards everything to the hooks of the run."""

    def __init__(self, watcher: Watcher, hooks: RunHooks[Any]) -> None:
        self.watcher, self.hooks = watcher, hooks
        _pass_on(self, hooks)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        _tell_start(self.watcher, context, tool)
        await self.hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(
        self, context: Any, agent: Any, tool: Any, result: Any
    ) -> None:
        await _tell_end(self.watcher, context, tool, result)
        await self.hooks.on_tool_end(context, agent, tool, result)


class _AgentHooks(AgentHooks[Any]):
    """The same for one agent, in any run. A call reported by both kinds of hooks is ended by the first."""

    def __init__(self, hooks: AgentHooks[Any]) -> None:
        self.hooks = hooks
        _pass_on(self, hooks)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        if watcher := _WATCHER.get():
            _tell_start(watcher, context, tool)
        await self.hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(
        self, context: Any, agent: Any, tool: Any, result: Any
    ) -> None:
        if watcher := _WATCHER.get():
            await _tell_end(watcher, context, tool, result)
        await self.hooks.on_tool_end(context, agent, tool, result)


def _pass_on(wrapper: Any, hooks: Any) -> None:
    """Give a wrapper all methods of the hooks that it does not have itself."""
    for name in dir(hooks):
        if name.startswith("on_") and name not in vars(type(wrapper)):
            setattr(wrapper, name, getattr(hooks, name))


def _tell_start(watcher: Watcher, context: Any, tool: Any) -> None:
    watcher.began(getattr(context, "tool_call_id", None) or "", tool.name)
    if isinstance(tool, FunctionTool):
        handler = resolve_function_tool_failure_error_function(tool)
        if handler not in (None, default_tool_error_function) and not isinstance(
            handler, _Handler
        ):
            set_function_tool_failure_error_function(tool, _Handler(handler))


async def _tell_end(watcher: Watcher, context: Any, tool: Any, result: Any) -> None:
    if call_id := getattr(context, "tool_call_id", None):
        await watcher.ended(call_id, result, _error_of(context, tool, result))


def _error_of(context: Any, tool: Any, result: Any) -> BaseException | None:
    """Return why a call has failed; for MCP tools, agents as tools and time limits, the SDK reveals only its text."""
    if error := getattr(context, ERROR, None):
        return error  # type: ignore[no-any-return]
    texts = [default_tool_error_function(context, Exception())]
    if limit := getattr(tool, "timeout_seconds", None):
        texts.append(
            default_tool_timeout_error_message(
                tool_name=tool.name, timeout_seconds=limit
            )
        )
    return RuntimeError(result) if result in texts else None
