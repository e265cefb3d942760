"""An agent of ag2 with a scripted model, whose tool calls a function with the decorator of the client: `agent.py THREAD`."""

from __future__ import annotations

import asyncio
import json
import sys

import program
from ag2.events import ToolCallEvent, ToolResultEvent
from ag2.testing import TestConfig

call = ToolCallEvent(name="refund", arguments=json.dumps(program.REFUND))
config = TestConfig(call, "done", raise_tool_errors=False)
names = program.run_page("smolagents-and-ag2.md", {"config": config, "thread_id": sys.argv[1]}, slice(1, 2))
events = asyncio.run(names["reply"].context.stream.history.get_events())
program.tell([part.content for event in events if isinstance(event, ToolResultEvent) for part in event.result.parts])
