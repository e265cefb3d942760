"""An Agent: who answers in a chat, with which instructions and tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chats.agent.script import Conversation
from chats.agent.tools import Tool

MAX_STEPS = 15
MAX_TOKENS = 8192
ADAPTIVE = "adaptive"
MIN_BUDGET = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Everything that makes an agent; list its dotted path in `HITL_AGENTS`.

    `model` is empty for the provider's default. `thinking` is a token budget, "adaptive", or 0 to leave it to the model;
    `max_tokens` bounds one answer beside it. `max_steps` bounds how often the model is asked in one turn. `script` is what the
    scripted provider plays for this agent.
    """

    name: str
    title: str = ""
    version: str = "1"
    model: str = ""
    system: str = ""
    tools: Sequence[Tool] = ()
    temperature: float | None = None
    thinking: int | Literal["adaptive"] = 0
    max_tokens: int = MAX_TOKENS
    max_steps: int = MAX_STEPS
    script: Sequence[Conversation] = ()

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError(f"agent {self.name}: two tools have one name")
        if self.thinking not in {0, ADAPTIVE} and int(self.thinking) < MIN_BUDGET:
            raise ValueError(f"agent {self.name}: thinking is {ADAPTIVE!r} or a budget of at least {MIN_BUDGET} tokens")

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)
