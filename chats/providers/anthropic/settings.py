"""An agent's settings in the terms that one model accepts: thinking, effort, temperature, tools, and the form of its answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from anthropic import transform_schema

from approvals.json_types import JsonDict
from chats.agent.agent import ADAPTIVE, Agent
from chats.agent.mcp_servers import McpServer
from chats.agent.server_tools import CODE, WEB, ServerTool
from chats.agent.tools import Tool
from chats.providers.anthropic.history import THOUGHTS
from chats.providers.anthropic.models import Takes

Messages = Sequence[JsonDict]
#: Values of `tool_choice` that name no tool, and those that force a call.
CHOICES = frozenset({"auto", "any", "none"})
#: The newest versions of the tools that the API runs; all models from 4.5 on accept them, without a beta header.
SERVER_TOOLS = {
    "web_search": "web_search_20260318",
    "web_fetch": "web_fetch_20260318",
    CODE: "code_execution_20260521",
}
#: The newest versions of the tools built into models. None needs a beta header.
TYPED_TOOLS = {
    "bash": "bash_20250124",
    "text_editor": "text_editor_20250728",
    "memory": "memory_20250818",
}
MCP_TOOLS = "mcp_toolset"


def tool_arguments(agent: Agent) -> list[JsonDict]:
    """Return the agent's tools in the API's form: its own, then those that the API runs."""
    search = (
        [{"type": f"{agent.search_name}_20251119", "name": agent.search_name}]
        if agent.tool_search
        else []
    )
    return [
        *map(_own_tool, agent.tools),
        *(
            _server_tool(tool, cites=agent.output is None)
            for tool in agent.server_tools
        ),
        *search,
        *map(_mcp_tools, agent.mcp_servers),
    ]


def _own_tool(tool: Tool) -> JsonDict:
    """Return a tool in the API's form. A strict one loses the limits that the API does not enforce; we still do."""
    deferred = {"defer_loading": True} if tool.deferred else {}
    if tool.kind:
        return {"type": TYPED_TOOLS[tool.kind], "name": tool.name} | deferred
    schema = transform_schema(tool.input_schema) if tool.strict else tool.input_schema
    arguments = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": schema,
    } | deferred
    options = {"strict": tool.strict, "eager_input_streaming": tool.eager}
    return arguments | {name: True for name, wanted in options.items() if wanted}


def _mcp_tools(server: McpServer) -> JsonDict:
    """Return the tools of an MCP server that may be called; other tools of the server are disabled."""
    return {
        "type": MCP_TOOLS,
        "mcp_server_name": server.name,
        "default_config": {"enabled": False},
        "configs": {name: {"enabled": True} for name in server.tools},
    }


def _server_tool(tool: ServerTool, *, cites: bool) -> JsonDict:
    """Return a tool that the API runs. An answer that is JSON cannot cite."""
    arguments: JsonDict = {"type": SERVER_TOOLS[tool.name], "name": tool.name}
    if tool.name in WEB:
        # Otherwise, newer versions call the tool from code, in a container that each later request would have to name.
        arguments["allowed_callers"] = ["direct"]
    if tool.name == "web_fetch" and cites:
        arguments["citations"] = {"enabled": True}
    if tool.max_uses is not None:
        arguments["max_uses"] = tool.max_uses
    for name, domains in (
        ("allowed_domains", tool.allowed_domains),
        ("blocked_domains", tool.blocked_domains),
    ):
        if domains:
            arguments[name] = list(domains)
    return arguments


def setting_arguments(
    agent: Agent, messages: Messages, without: Collection[str], takes: Takes
) -> JsonDict:
    """Return the other arguments of a request."""
    arguments = _thinking(agent, messages, without, takes)
    if agent.stop_sequences:
        arguments["stop_sequences"] = list(agent.stop_sequences)
    config: JsonDict = {}
    if agent.effort in takes.efforts and "effort" not in without:
        config["effort"] = agent.effort
    if agent.output is not None and takes.structured:
        config["format"] = {
            "type": "json_schema",
            "schema": transform_schema(agent.output),
        }
    if config:
        arguments["output_config"] = config
    has_tools = agent.tools or agent.server_tools or agent.mcp_servers
    if has_tools and (
        choice := _tool_choice(agent, messages, takes, thinks="thinking" in arguments)
    ):
        arguments["tool_choice"] = choice
    return arguments


def _thinking(
    agent: Agent, messages: Messages, without: Collection[str], takes: Takes
) -> JsonDict:
    """Return the arguments for thinking, or for the temperature. A model without a budget decides itself how long to think."""
    if not agent.thinking:
        if (
            agent.temperature is None
            or not takes.temperature
            or "temperature" in without
        ):
            return {}
        # The SDK has dropped this argument, but older models still accept it.
        return {"extra_body": {"temperature": agent.temperature}}
    if agent.thinking != ADAPTIVE and takes.budget and "enabled" not in without:
        if not _turn_began_with_thinking(messages):
            return {}
        budget = int(agent.thinking)
        # Models with a budget show their thinking unless told otherwise; newer ones show it only on request.
        hidden = {} if agent.show_thinking else {"display": "omitted"}
        thinking = {"type": "enabled", "budget_tokens": budget, **hidden}
        return {"thinking": thinking, "max_tokens": agent.max_tokens + budget}
    if takes.adaptive and ADAPTIVE not in without:
        return {
            "thinking": {
                "type": ADAPTIVE,
                "display": "summarized" if agent.show_thinking else "omitted",
            }
        }
    return {}


def _tool_choice(
    agent: Agent, messages: Messages, takes: Takes, *, thinks: bool
) -> JsonDict:
    """Return which tools the model may or has to use; {} leaves it to the model.

    A call is forced only in the first answer to a person, because a turn in which each answer is a call has no end.
    """
    choice = agent.tool_choice
    if not choice or choice == "auto":
        return {}
    if choice == "none":
        return {"type": "none"}
    answers_person = any(
        block["type"] != "tool_result" for block in messages[-1]["content"]
    )
    if not (
        answers_person
        and messages[-1]["role"] == "user"
        and takes.forced_tools
        and not thinks
    ):
        return {}
    return {"type": "any"} if choice == "any" else {"type": "tool", "name": choice}


def _turn_began_with_thinking(messages: Messages) -> bool:
    """Return whether a thinking budget is allowed: a turn that began without thinking has to end without it."""
    first = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            first = message
        elif any(block["type"] != "tool_result" for block in message["content"]):
            break
    return first is None or first["content"][0]["type"] in THOUGHTS
