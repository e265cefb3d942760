"""A model of Agno that plays messages."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import program
from agno.models.base import Model
from agno.models.response import ModelResponse


class Scripted(Model):
    """Plays the messages, each a list of calls, and then says that it is done; `read` has the results that it was given."""

    def __init__(self, messages: list[list[program.Call]]) -> None:
        super().__init__(id="scripted")
        self.messages = list(messages)
        self.read: list[str] = []

    def _next(self, messages: list[Any]) -> ModelResponse:
        results = [str(message.content) for message in messages if message.role == "tool"]
        self.read += results[len(self.read) :]
        if not self.messages:
            return ModelResponse(role="assistant", content="done")
        calls = [
            {
                "id": call.id or None,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.input)},
            }
            for call in self.messages.pop(0)
        ]
        return ModelResponse(role="assistant", tool_calls=calls)

    def invoke(self, messages: list[Any], **_: Any) -> ModelResponse:
        return self._next(messages)

    async def ainvoke(self, messages: list[Any], **_: Any) -> ModelResponse:
        return self._next(messages)

    def invoke_stream(self, messages: list[Any], **_: Any) -> Iterator[ModelResponse]:
        yield self._next(messages)

    async def ainvoke_stream(self, messages: list[Any], **_: Any) -> AsyncIterator[ModelResponse]:
        yield self._next(messages)

    def _parse_provider_response(self, response: ModelResponse, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: ModelResponse) -> ModelResponse:
        return response
