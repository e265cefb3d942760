"""OpenAI's Chat Completions API, which nearly every other server has too."""

from __future__ import annotations

from collections.abc import Collection

from chats.agent.provider import ModelRequest
from chats.providers.openai.answer import Payload
from chats.providers.openai.chat_completions.request import (
    LIMITS,
    NAME,
    OPTIONAL,
    problems_of,
    request_arguments,
    vendor_members,
)
from chats.providers.openai.chat_completions.stream import StreamedAnswer
from chats.providers.openai.provider import ServerProvider

__all__ = ["OpenAIProvider"]


class OpenAIProvider(ServerProvider):
    """Asks a server with the Chat Completions API."""

    name = NAME
    path = "/chat/completions"
    optional = OPTIONAL

    problems_of = staticmethod(problems_of)
    answer = StreamedAnswer

    def _payload(
        self, request: ModelRequest, model: str, without: Collection[str]
    ) -> Payload:
        limits = LIMITS if self._theirs else LIMITS[::-1]
        arguments = request_arguments(request, model, without, limits)
        return Payload(arguments, members=vendor_members(arguments["messages"]))
