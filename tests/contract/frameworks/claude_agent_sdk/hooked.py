"""Claude Code through the Claude Agent SDK, with hooks: `hooked.py THREAD FOLDER KIND`.

KIND is `desk` (the hooks of `DeskPermissions`), `options` (a hook of the options is told results), `settings` (the folder's
settings have hooks, and the options none), or `both` (the folder's settings have hooks, and the options `can_use_tool`).
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import program
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher
from pausepoint import AsyncDesk
from pausepoint.claude import DeskPermissions

FOLDER, KIND = sys.argv[2:4]
WORDS = "The person says: gently."


async def note(result: Any, tool_use_id: str | None, _context: Any) -> Any:
    program.happens([tool_use_id, result["tool_input"], result["tool_response"]])
    return {"hookSpecificOutput": {"hookEventName": result["hook_event_name"], "additionalContext": WORDS}}


async def main() -> None:
    desk = AsyncDesk()
    permissions = DeskPermissions(desk)
    given: dict[str, dict[str, Any]] = {
        "desk": {"can_use_tool": permissions.can_use_tool, "hooks": permissions.hooks},
        "options": {"can_use_tool": desk.can_use_tool, "hooks": {"PostToolUse": [HookMatcher(hooks=[note])]}},
        "settings": {"setting_sources": ["project"]},
        "both": {"setting_sources": ["project"], "can_use_tool": desk.can_use_tool},
    }
    async with ClaudeSDKClient(ClaudeAgentOptions(cwd=FOLDER, **{"setting_sources": [], **given[KIND]})) as claude:
        await claude.query("go")
        async for _message in claude.receive_response():
            pass
    program.tell()


asyncio.run(main())
