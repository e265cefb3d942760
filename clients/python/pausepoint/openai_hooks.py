"""How an adapter is told what the tools of an OpenAI Agents run do: the SDK turns their errors into texts for the model."""

from __future__ import annotations

import copy
import inspect
from typing import Any, Protocol

from agents import FunctionTool, RunHooks, default_tool_error_function
from agents.lifecycle import RunHooksBase
from agents.run_config import ToolErrorFormatterArgs
from agents.tool import (
    default_tool_timeout_error_message,
    resolve_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)

#: Where the error of a tool is kept on the context of its call, until the call ends.
ERROR = "_pausepoint_error"


class Watcher(Protocol):
    """Who is told about calls."""

    def began(self, call_id: str) -> None: ...

    async def ended(self, call_id: str, output: Any, error: BaseException | None = None) -> None: ...


def watched(watcher: Watcher, run: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run whose watcher is told about calls; the hooks and the formatter in them go on working."""
    hooks, config = run.get("hooks"), run.get("run_config")
    if hooks is not None and not isinstance(hooks, RunHooksBase):
        # The SDK says what is wrong with them.
        return run
    if config is None or isinstance(config, dict):
        config = dict(config or {})
        config["tool_error_formatter"] = _Formatter(config.get("tool_error_formatter"))
    else:
        config = copy.copy(config)
        config.tool_error_formatter = _Formatter(config.tool_error_formatter)
    return {**run, "hooks": _Hooks(watcher, hooks or RunHooks[Any]()), "run_config": config}


class _Formatter:
    """Keeps the error of a tool without a handler of its own, for which the SDK asks no one else."""

    def __init__(self, formatter: Any) -> None:
        self.formatter = formatter

    def __call__(self, args: ToolErrorFormatterArgs[Any]) -> Any:
        if args.kind == "tool_exception":
            setattr(args.run_context, ERROR, args.error)
        return self.formatter(args) if self.formatter else None


class _Handler:
    """Keeps the error of a tool with a handler of its own."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    async def __call__(self, context: Any, error: Exception) -> str:
        setattr(context, ERROR, error)
        text = self.handler(context, error)
        return str(await text if inspect.isawaitable(text) else text)


class _Hooks(RunHooks[Any]):
    """Tells the watcher when calls begin and end, and passes everything on to the hooks of the run."""

    def __init__(self, watcher: Watcher, hooks: RunHooks[Any]) -> None:
        self.watcher, self.hooks = watcher, hooks
        for name in dir(hooks):
            if name.startswith("on_") and name not in vars(_Hooks):
                setattr(self, name, getattr(hooks, name))

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        if call_id := getattr(context, "tool_call_id", None):
            self.watcher.began(call_id)
        if isinstance(tool, FunctionTool):
            handler = resolve_function_tool_failure_error_function(tool)
            if handler not in (None, default_tool_error_function) and not isinstance(handler, _Handler):
                set_function_tool_failure_error_function(tool, _Handler(handler))
        await self.hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        if call_id := getattr(context, "tool_call_id", None):
            await self.watcher.ended(call_id, result, _error_of(context, tool, result))
        await self.hooks.on_tool_end(context, agent, tool, result)


def _error_of(context: Any, tool: Any, result: Any) -> BaseException | None:
    """Return why a call has failed; of an MCP tool, an agent as a tool and a time limit, the SDK tells only its text."""
    if error := getattr(context, ERROR, None):
        return error  # type: ignore[no-any-return]
    texts = [default_tool_error_function(context, Exception())]
    if limit := getattr(tool, "timeout_seconds", None):
        texts.append(default_tool_timeout_error_message(tool_name=tool.name, timeout_seconds=limit))
    return RuntimeError(result) if result in texts else None
