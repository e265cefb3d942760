"""Agents: a name, instructions, tools and limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.extra import check_extra
from chats.agent.mcp_servers import McpServer
from chats.agent.script import Conversation
from chats.agent.server_tools import CODE, ServerTool
from chats.agent.tools import Tool
from chats.agent.uploads import UploadedFile

MAX_STEPS = 15
MAX_TOKENS = 8192
ADAPTIVE = "adaptive"
MIN_BUDGET = 1024
SEARCHES = ("", "bm25", "regex")
EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Task(BaseModel):
    """The input of a sub-agent."""

    model_config = ConfigDict(extra="forbid")
    task: Annotated[
        str,
        Field(
            min_length=1,
            max_length=20_000,
            description="Everything that it has to know.",
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent that answers in chats; list its dotted path in `HITL_AGENTS`.

    An empty `model` means the provider's default. `thinking` is a budget of tokens, "adaptive", or 0 to leave it to the model;
    `show_thinking` asks for its summary. `effort` is the thoroughness of an answer, "" leaves that to the model. `tool_choice` is
    "auto", "none", or for the first answer to a person "any" or the name of a tool. Each of the `stop_sequences` ends an answer.
    `output` is the type of the last answer, which is JSON then (`parse_output`). Prompts are cached for `cache_minutes`, if the
    model's API supports it. `max_tokens` limits one answer without its thinking. `max_steps` limits how often the model is asked
    in one turn. The model's provider runs the `server_tools`, calls the tools of the `mcp_servers`, and finds the deferred tools
    by `tool_search`. If the model refuses, one of the `fallbacks` answers: models in this order, or "default". Each chat begins
    with the `files`, which are stored at the provider. `extra` are further arguments of the provider's API. The scripted
    provider plays `script` for this agent.
    """

    name: str
    title: str = ""
    version: str = "1"
    model: str = ""
    system: str = ""
    tools: Sequence[Tool] = ()
    server_tools: Sequence[ServerTool] = ()
    mcp_servers: Sequence[McpServer] = ()
    tool_search: Literal["", "bm25", "regex"] = ""
    fallbacks: Literal["default"] | Sequence[str] = ()
    files: Sequence[UploadedFile] = ()
    extra: JsonMapping = field(default_factory=dict)
    temperature: float | None = None
    thinking: int | Literal["adaptive"] = 0
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = ""
    show_thinking: bool = True
    tool_choice: str = ""
    stop_sequences: Sequence[str] = ()
    output: type[BaseModel] | None = None
    cache_minutes: Literal[0, 5, 60] = 5
    max_tokens: int = MAX_TOKENS
    max_steps: int = MAX_STEPS
    script: Sequence[Conversation] = ()

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.all_tools] + [
            tool.name for tool in self.server_tools
        ]
        names += [self.search_name] if self.tool_search else []
        if len(set(names)) != len(names):
            raise ValueError(f"agent {self.name}: two tools have the same name")
        if self.thinking not in {0, ADAPTIVE} and int(self.thinking) < MIN_BUDGET:
            raise ValueError(
                f"agent {self.name}: thinking must be {ADAPTIVE!r} or a budget of at least {MIN_BUDGET} tokens"
            )
        if self.effort and self.effort not in EFFORTS:
            raise ValueError(
                f"agent {self.name}: effort must be one of {', '.join(EFFORTS)}"
            )
        if any(not word.strip() for word in self.stop_sequences):
            raise ValueError(f"agent {self.name}: a stop sequence is empty")
        try:
            self._check_provider_features()
            check_extra(self.extra)
        except ValueError as error:
            raise ValueError(f"agent {self.name}: {error}") from error

    def _check_provider_features(self) -> None:
        """Refuse combinations of provider features that cannot work. Raise ValueError."""
        deferred = [tool.name for tool in self.tools if tool.deferred]
        if self.tool_search not in SEARCHES:
            raise ValueError(
                f"tool_search must be one of {', '.join(filter(None, SEARCHES))}"
            )
        if deferred and not self.tool_search:
            raise ValueError(
                f"the tool {deferred[0]} is deferred, so set tool_search; otherwise the model cannot find it"
            )
        if self.tool_search and not deferred:
            raise ValueError(
                "tool_search finds deferred tools, but no tool is deferred"
            )
        if self.tool_choice in deferred:
            raise ValueError(
                f"tool_choice names {self.tool_choice}, which is deferred: nothing is loaded that could be forced"
            )
        if len({server.name for server in self.mcp_servers}) != len(self.mcp_servers):
            raise ValueError("two MCP servers have the same name")
        if len({file.file_id for file in self.files}) != len(self.files):
            raise ValueError("a file is listed twice")
        runs_code = any(tool.name == CODE for tool in self.server_tools)
        if not runs_code and any(file.use == "container" for file in self.files):
            raise ValueError(
                "a file for the container needs the server tool code_execution"
            )
        if self.fallbacks != "default":
            models = [self.model, *self.fallbacks]
            if (
                isinstance(self.fallbacks, str)
                or not all(self.fallbacks)
                or len(set(models)) != len(models)
            ):
                raise ValueError(
                    'fallbacks must be "default" or a list of other models without duplicates'
                )

    def parse_output(self, text: str) -> BaseModel:
        """Parse an answer of this agent as its `output` type. Raise ValueError if it does not conform, as after a refusal."""
        if self.output is None:
            raise ValueError(f"agent {self.name} has no output type")
        return self.output.model_validate_json(text)

    @cached_property
    def all_tools(self) -> Sequence[Tool]:
        """Its tools, and the tools that ask people for permission to use a server tool."""
        return (*self.tools, *(each.asking for each in self.gated))

    @cached_property
    def gated(self) -> list[ServerTool | McpServer]:
        """Server tools and MCP servers that need a person's approval before they are offered to the model."""
        offered: list[ServerTool | McpServer] = [*self.server_tools, *self.mcp_servers]
        return [each for each in offered if each.needs_approval]

    @property
    def search_name(self) -> str:
        """The name of the provider's tool that finds deferred tools."""
        return f"tool_search_tool_{self.tool_search}"

    def tool(self, name: str) -> Tool | None:
        return next((tool for tool in self.all_tools if tool.name == name), None)

    def offered(self, approved: Collection[str]) -> Agent:
        """Return this agent as offered to a model, after people have approved calls of these tools.

        It has the server tools and MCP servers that may be used now, and for each other one the tool that asks for it.
        """
        gated = [each for each in self.gated if each.asking.name not in approved]
        server_tools = [
            replace(each, needs_approval=False)
            for each in self.server_tools
            if each not in gated
        ]
        runs_code = any(tool.name == CODE for tool in server_tools)
        return replace(
            self,
            tools=[*self.tools, *(each.asking for each in gated)],
            server_tools=server_tools,
            mcp_servers=[
                each.accepted for each in self.mcp_servers if each not in gated
            ],
            files=[file for file in self.files if runs_code or file.use != "container"],
        )

    def as_tool(
        self,
        *,
        name: str = "",
        description: str = "",
        needs_approval: bool | Callable[[JsonDict], bool] = False,
        priority: str = "normal",
        deadline: float | None = None,
    ) -> Tool:
        """Return this agent as a tool of another one.

        It carries out a task in a chat of its own, and its last text is the tool's output. Its requests are shown in the top
        chat, and the caller waits for it however long people take.
        """
        return Tool(
            name=name or self.name,
            description=description
            or f"Give a task to {self.title or self.name}; the answer comes when it is done.",
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
