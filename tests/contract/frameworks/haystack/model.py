"""A chat generator of Haystack that plays messages."""

from __future__ import annotations

from typing import Any

import program
from haystack import component
from haystack.dataclasses import ChatMessage, ToolCall


@component
class Scripted:
    """Plays the messages, each a list of calls, and then says that it is done; `read` has the results that it was given."""

    def __init__(self, messages: list[list[program.Call]]) -> None:
        self.messages = list(messages)
        self.read: list[str] = []

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, list[ChatMessage]]:
        results = [str(message.tool_call_result.result) for message in messages if message.tool_call_result]
        self.read += results[len(self.read) :]
        if not self.messages:
            return {"replies": [ChatMessage.from_assistant("done")]}
        calls = [
            ToolCall(id=call.id or None, tool_name=call.name, arguments=call.input) for call in self.messages.pop(0)
        ]
        return {"replies": [ChatMessage.from_assistant(tool_calls=calls)]}
