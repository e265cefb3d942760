"""An Agent: who answers in a chat, with which instructions and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from chats.agent.script import Conversation
from chats.agent.tools import Tool

MAX_STEPS = 15
MAX_TOKENS = 8192
ADAPTIVE = "adaptive"
MIN_BUDGET = 1024


class Task(BaseModel):
    """What an agent tells its sub-agent."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[str, Field(min_length=1, max_length=20_000, description="Everything that it has to know.")]


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

    def as_tool(
        self,
        *,
        name: str = "",
        description: str = "",
        needs_approval: bool | Callable[[dict[str, Any]], bool] = False,
        priority: str = "normal",
        deadline: float | None = None,
    ) -> Tool:
        """This agent as a tool of another one: it carries out a task in a conversation of its own, whose last words are the
        tool's output. What it asks people shows at the top, and the caller waits for it, for as long as that takes.
        """
        return Tool(
            name=name or self.name,
            description=description or f"Give a task to {self.title or self.name}; the answer comes when it is done.",
            input_model=Task,
            needs_approval=needs_approval,
            priority=priority,
            deadline=deadline,
            agent=self,
        )

    @property
    def family(self) -> Iterator[Agent]:
        """This agent, and every agent that it has as a tool, at any depth."""
        yield self
        for tool in self.tools:
            if tool.agent is not None:
                yield from tool.agent.family
