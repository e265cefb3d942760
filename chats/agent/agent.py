"""Agents: a name, instructions, tools and limits."""

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
    """The input of a sub-agent."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[str, Field(min_length=1, max_length=20_000, description="Everything that it has to know.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent that answers in chats; list its dotted path in `HITL_AGENTS`.

    An empty `model` means the provider's default. `thinking` is a budget of tokens, "adaptive", or 0 to leave it to the model;
    `max_tokens` limits one answer without its thinking. `max_steps` limits how often the model is asked in one turn. The
    scripted provider plays `script` for this agent.
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
        """Return this agent as a tool of another one.

        It carries out a task in a chat of its own, and its last text is the tool's output. Its requests are shown in the chat
        at the top, and the caller waits for it however long people take.
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
        """This agent and all agents that it has as tools, at any depth."""
        yield self
        for tool in self.tools:
            if tool.agent is not None:
                yield from tool.agent.family
