"""Run a tool within its limit: async ones on the loop, sync ones on a bounded pool of threads of their own."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from approvals.runtime import database
from approvals.runtime.canonical import NotCanonical, canonical, clean_json, clean_text
from approvals.runtime.translatable import gettext_noop
from chats.agent.tools import InvalidInput, Tool, ToolContext, ToolError

logger = logging.getLogger(__name__)

THREADS = 8
MAX_OUTPUT_BYTES = 256_000
#: A run that outlives its limit may still bring its result; after this many seconds nobody listens any more.
LATE_LIMIT = 3600.0

_pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pausepoint-tool")


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to: an output, or the words of its failure."""

    output: Any = None
    error_text: str = ""


Late = Callable[[Result], Awaitable[None]]


async def run_tool(tool: Tool, value: Any, context: ToolContext, *, late: Late) -> Result | None:
    """The tool's result; None if it did not end within its limit, and then `late` gets the result if one still comes.

    A sync tool that has not even got a thread by then is not started any more: that much is known, and is its result.
    """
    threads: list[Future[Any]] = []
    task = asyncio.create_task(_guarded(tool, value, context, threads))
    try:
        return await asyncio.wait_for(asyncio.shield(task), tool.timeout)
    except TimeoutError:
        if any(thread.cancel() for thread in threads):
            return Result(
                error_text=f"{tool.name} was not started: all {THREADS} threads for tools were busy. Try again later."
            )
        _late_runs.add(waiting := asyncio.create_task(_wait_longer(task, late)))
        waiting.add_done_callback(_late_runs.discard)
        return None


_late_runs: set[asyncio.Task[None]] = set()


async def _wait_longer(task: asyncio.Task[Result], late: Late) -> None:
    with contextlib.suppress(TimeoutError):
        await late(await asyncio.wait_for(task, LATE_LIMIT))


async def _guarded(tool: Tool, value: Any, context: ToolContext, threads: list[Future[Any]]) -> Result:
    try:
        output = await _call(tool, value, context, threads)
    except (ToolError, InvalidInput) as error:
        return Result(error_text=clean_text(str(error))[:2000] or f"{tool.name} failed.")
    except (Exception, SystemExit) as error:
        # SystemExit too: a tool that calls `sys.exit` must not end the server.
        logger.exception("Tool %s raised (call %s)", tool.name, context.tool_call_id)
        return Result(error_text=f"{tool.name} failed ({type(error).__name__}). The server's log has the details.")
    try:
        return Result(output=await asyncio.to_thread(_kept, output))
    except Exception as error:
        # Whatever is wrong with the result, the tool did run, and the model must not take it for a failure.
        words = clean_text(str(error))[:300] if isinstance(error, ValueError) else type(error).__name__
        return Result(error_text=f"{tool.name} ran, but its result cannot be kept: {words}.")


async def _call(tool: Tool, value: Any, context: ToolContext, threads: list[Future[Any]]) -> Any:
    if tool.run is None:
        raise ToolError(f"{tool.name} is a question to a person and cannot be run.")
    model = tool.validate(value)
    arguments = {name: getattr(model, name) for name in type(model).model_fields}
    if tool.context_parameter:
        arguments[tool.context_parameter] = context
    bound = functools.partial(tool.run, **arguments)
    if inspect.iscoroutinefunction(tool.run):
        return await bound()
    threads.append(_pool.submit(_in_thread, bound))
    return await asyncio.wrap_future(threads[0])


def _in_thread(bound: Callable[[], Any]) -> Any:
    try:
        return database.unit(bound)
    except StopIteration as error:
        # No asyncio future carries one: whoever waits would wait for ever.
        raise RuntimeError("the tool raised StopIteration") from error


def _kept(output: Any) -> Any:
    """The output as JSON, within bounds; ValueError if it has no such form."""
    plain = to_jsonable_python(output)
    # A quick look at the size before the careful one: on 50 MB the careful one takes a minute.
    if len(json.dumps(plain, ensure_ascii=False)) > MAX_OUTPUT_BYTES:
        raise NotCanonical(gettext_noop("larger than %(limit)s bytes"), limit=f"{MAX_OUTPUT_BYTES:,}")
    value = clean_json(plain)
    canonical(value, max_bytes=MAX_OUTPUT_BYTES)
    return value
