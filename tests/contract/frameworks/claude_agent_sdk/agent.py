"""Claude Code through the Claude Agent SDK, with a stand-in of the Messages API: `agent.py THREAD FOLDER`."""

from __future__ import annotations

import asyncio
import sys

import program
from claude_agent_sdk import ClaudeSDKClient, ResultMessage, ToolResultBlock, UserMessage
from pausepoint import AsyncDesk

FOLDER = sys.argv[2]


async def main() -> None:
    names = program.run_page("claude-agent-sdk.md", {"desk": AsyncDesk(), "folder": FOLDER})
    told, last = {}, ""
    async with ClaudeSDKClient(names["options"]) as claude:
        await claude.query("go")
        async for message in claude.receive_response():
            if isinstance(message, UserMessage) and isinstance(message.content, list):
                blocks = [block for block in message.content if isinstance(block, ToolResultBlock)]
                told |= {block.tool_use_id.partition("-")[0]: block.content for block in blocks}
            if isinstance(message, ResultMessage):
                last = message.result or ""
    program.tell(messages=told, last=last)


asyncio.run(main())
