"""Run a tool within its time limit: async tools on the event loop, sync tools in a thread pool of their own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import to_jsonable_python

from approvals.db import pool
from approvals.db.canonical_json import NotCanonical, canonical, clean_json, clean_text
from approvals.text.translatable import Count, gettext_noop
from chats.agent.tools import InvalidInput, Tool, ToolContext, ToolError
from chats.engine.tool_files import ResultFiles, without_references
from chats.models import Attachment

logger = logging.getLogger(__name__)

THREADS = 8
MAX_OUTPUT_BYTES = 256_000
#: Seconds for which the result of a run that exceeded its limit is still accepted.
LATE_LIMIT = 3600.0

_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-tool")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: an output, or the text of an error. The output holds references to `files`, not yet stored."""

    output: Any = None
    error_text: str = ""
    files: Sequence[Attachment] = ()

    def without_files(self, tool_name: str, problem: str) -> Result:
        """Return the result with words in place of its files."""
        return replace(self, output=without_references(self.output, tool_name, self.files, problem), files=())


Late = Callable[[Result], Awaitable[None]]


async def run_tool(tool: Tool, value: Any, context: ToolContext, *, late: Late) -> Result | None:
    """Return the tool's result; None if it exceeded its limit, and then pass a late result to `late`.

    A sync tool that got no thread within its limit is not started; its result says so.
    """
    running: asyncio.Future[Result]
    if inspect.iscoroutinefunction(tool.run):
        thread, running = None, asyncio.create_task(_run_on_loop(tool, value, context))
    else:
        thread = _pool.submit(_run_in_thread, tool, value, context)
        running = asyncio.wrap_future(thread)
    await asyncio.wait({running}, timeout=tool.timeout)
    if running.done():
        return running.result()
    if thread is not None and thread.cancel():
        return Result(
            error_text=f"{tool.name} was not started: all {THREADS} threads for tools were busy. Try again later."
        )
    _late_runs.add(waiting := asyncio.create_task(_wait_longer(running, late)))
    waiting.add_done_callback(_late_runs.discard)
    return None


_late_runs: set[asyncio.Task[None]] = set()


async def _wait_longer(running: asyncio.Future[Result], late: Late) -> None:
    with contextlib.suppress(TimeoutError):
        await late(await asyncio.wait_for(running, LATE_LIMIT))


def _run_in_thread(tool: Tool, value: Any, context: ToolContext) -> Result:
    try:
        output = pool.call_and_close(_bind(tool, value, context))
    except (Exception, SystemExit) as error:
        return _failure(tool, context, error)
    return _keep(tool, context, output)


async def _run_on_loop(tool: Tool, value: Any, context: ToolContext) -> Result:
    try:
        output = await _bind(tool, value, context)()
    except (Exception, SystemExit) as error:
        return _failure(tool, context, error)
    # A large output would hold up the loop.
    return await asyncio.to_thread(_keep, tool, context, output)


def _bind(tool: Tool, value: Any, context: ToolContext) -> Callable[[], Any]:
    """Return the tool's function with its checked arguments. InvalidInput, ToolError."""
    if tool.run is None:
        raise ToolError(f"{tool.name} is a question to a person and cannot be run.")
    arguments = tool.arguments(tool.validate(value))
    if tool.context_parameter:
        arguments[tool.context_parameter] = context
    return functools.partial(tool.run, **arguments)


def _failure(tool: Tool, context: ToolContext, error: BaseException) -> Result:
    """Return what an error of a tool means. SystemExit too: a tool that calls `sys.exit` must not end the server."""
    if isinstance(error, (ToolError, InvalidInput)):
        return Result(error_text=clean_text(str(error))[:2000] or f"{tool.name} failed.")
    logger.error("Tool %s raised (call %s)", tool.name, context.tool_call_id, exc_info=error)
    # As Python calls a StopIteration that leaves a coroutine.
    name = "RuntimeError" if isinstance(error, StopIteration) else type(error).__name__
    return Result(error_text=f"{tool.name} failed ({name}). The server's log has the details.")


def _keep(tool: Tool, context: ToolContext, output: Any) -> Result:
    """Return the result of a tool that has run, or that it cannot be kept: the model must not be told that it failed."""
    files = ResultFiles(tool.name, context.tool_call_id)
    try:
        return Result(output=_storable(output, files), files=files.rows)
    except Exception as error:
        problem = clean_text(str(error))[:300] if isinstance(error, ValueError) else type(error).__name__
        return Result(error_text=f"{tool.name} ran, but its result cannot be kept: {problem}.")


def _storable(output: Any, files: ResultFiles) -> Any:
    """Return the output as JSON within bounds, with references to its files. ValueError if that is impossible."""
    plain = to_jsonable_python(output, fallback=files.take)
    # A cheap check of the size first: the exact one takes a minute for 50 MB.
    if len(json.dumps(plain, ensure_ascii=False)) > MAX_OUTPUT_BYTES:
        raise NotCanonical(gettext_noop("larger than %(limit)s bytes"), limit=Count(MAX_OUTPUT_BYTES))
    value = clean_json(plain)
    canonical(value, max_bytes=MAX_OUTPUT_BYTES)
    return value
