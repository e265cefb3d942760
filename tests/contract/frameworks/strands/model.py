"""A model of Strands that plays messages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import program
from strands.models import Model


class Scripted(Model):
    """Plays the messages, each a list of calls, and then says that it is done; `read` has the results that it was given."""

    def __init__(self, messages: list[list[program.Call]]) -> None:
        self.messages = list(messages)
        self.read: list[str] = []

    def update_config(self, **settings: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *args: Any, **settings: Any) -> AsyncIterator[Any]:
        yield {}

    async def stream(self, messages: Any, *args: Any, **settings: Any) -> AsyncIterator[Any]:
        results = [block["toolResult"]["content"] for block in messages[-1]["content"] if "toolResult" in block]
        self.read += ["\n".join(str(part.get("text", part)) for part in result) for result in results]
        calls = self.messages.pop(0) if self.messages else []
        yield {"messageStart": {"role": "assistant"}}
        for call in calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call.name, "toolUseId": call.id}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call.input)}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}
