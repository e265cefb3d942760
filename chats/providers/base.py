"""What a model provider is: it is shown a conversation and streams one answer as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chats.agent.agent import Agent
from chats.agent.events import Event

#: Every stop reason a provider may return in `ModelFinished`, in Anthropic's words.
STOP_REASONS = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
)


class ProviderError(Exception):
    """The model could not be asked; the message is shown to people and says what to do."""


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One message as the model sees it: content blocks in Anthropic's shape (text, thinking, tool_use, tool_result).

    `provider` and `model` say who made an assistant's message.
    """

    role: str
    content: Sequence[dict[str, Any]]
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    agent: Agent
    messages: Sequence[ModelMessage]


class Provider(Protocol):
    name: str

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """Yield text, reasoning and tool input events, then exactly one `ModelFinished`.

        Raises ProviderError. A stream that ends without `ModelFinished` is a failure.
        """
        ...
