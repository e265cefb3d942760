"""OpenAI's Responses API, which lets its models see their earlier thoughts again. Nothing is stored at the server."""

from __future__ import annotations

from collections.abc import Collection

from chats.agent.provider import ModelRequest
from chats.providers.openai.answer import Payload
from chats.providers.openai.provider import ServerProvider
from chats.providers.openai.responses.request import (
    NAME,
    OPTIONAL,
    problems_of,
    request_arguments,
)
from chats.providers.openai.responses.stream import StreamedAnswer

__all__ = ["ResponsesProvider"]


class ResponsesProvider(ServerProvider):
    """Asks a server with the Responses API."""

    name = NAME
    path = "/responses"
    optional = OPTIONAL

    problems_of = staticmethod(problems_of)
    answer = StreamedAnswer

    def _payload(
        self, request: ModelRequest, model: str, without: Collection[str]
    ) -> Payload:
        return request_arguments(request, model, without)
