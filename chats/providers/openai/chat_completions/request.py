"""The request to a Chat Completions API: the stored conversation, translated from Anthropic's blocks. Pure.

Everything that these servers do not accept is left out: signed thoughts, the tools that Anthropic runs, calls without a result.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.agent import Agent
from chats.agent.provider import GO_ON, ITEM, ModelMessage, ModelRequest
from chats.providers.openai import settings
from chats.providers.openai.answer import MEMBER
from chats.providers.openai.chat_completions.members import (
    CALL,
    FUNCTION,
    MESSAGE,
    THOUGHTS,
    VENDOR,
    without_names,
)
from chats.providers.openai.conversation import (
    EMPTY,
    result_files,
    result_text,
    with_results,
)
from chats.providers.openai.settings import sent_name

NAME = "openai"
#: The two names of the limit of an answer: OpenAI's models refuse the second, and other servers may ignore the first.
LIMITS = ("max_completion_tokens", "max_tokens")
#: Arguments that can be left out if a model refuses them.
OPTIONAL = ("temperature", "stream_options", "reasoning_effort", "stop", *LIMITS)
MAX_STOPS = 4
#: The text of the message with the files of results, because a result may only be a text.
RETURNED = "(Files that the tools returned:)"
#: The longest id that every server accepts. A server's own ids may be longer.
LONGEST_ID = 40

Message = JsonDict
Content = str | list[JsonDict]


def request_arguments(
    request: ModelRequest,
    model: str,
    without: Collection[str] = (),
    limits: Sequence[str] = LIMITS,
) -> JsonDict:
    """Return the body of the request.

    `without` names the arguments that this model was found to refuse. The first of `limits` that is not among them is sent.
    """
    agent = request.agent
    left_out = [
        name.removeprefix(MEMBER) for name in without if name.startswith(MEMBER)
    ]
    system = (
        [{"role": "system", "content": agent.system}] if agent.system.strip() else []
    )
    arguments: JsonDict = {
        "model": model,
        "messages": [*system, *_messages(request.messages, model, left_out)],
        "stream": True,
        # Without it, the stream does not report the number of tokens.
        "stream_options": {"include_usage": True},
    }
    if limit := next((name for name in limits if name not in without), ""):
        arguments[limit] = agent.max_tokens
    arguments |= _setting_arguments(agent, arguments["messages"])
    return {name: value for name, value in arguments.items() if name not in without}


def problems_of(agent: Agent) -> Iterator[str]:
    """Yield settings of an agent that the API would refuse, with instructions."""
    if len(agent.stop_sequences) > MAX_STOPS:
        yield _("A request takes at most %(limit)d stop sequences.") % {
            "limit": MAX_STOPS
        }
    yield from settings.problems_of(agent)


def vendor_members(messages: Sequence[Message]) -> frozenset[str]:
    """Return the names of vendors' additions in these messages."""
    answers = [message for message in messages if message["role"] == "assistant"]
    calls = [call for answer in answers for call in answer.get("tool_calls", ())]
    functions = [call["function"] for call in calls]
    read = {*MESSAGE, *CALL, *FUNCTION}
    return frozenset(
        name
        for held in (*answers, *calls, *functions)
        for name in held
        if name not in read
    )


def _setting_arguments(agent: Agent, messages: Sequence[Message]) -> JsonDict:
    """Return the arguments from the agent alone. Its `thinking` is not included: these APIs take an effort."""
    tools = [
        {"type": "function", "function": settings.function_of(tool)}
        for tool in agent.tools
    ]
    form = (
        {"type": "json_schema", "json_schema": settings.format_of(agent.output)}
        if agent.output is not None
        else None
    )
    arguments = {
        "tools": tools or None,
        "tool_choice": settings.tool_choice(agent, messages[-1]["role"], _named),
        "temperature": agent.temperature,
        "reasoning_effort": agent.effort or None,
        "stop": list(agent.stop_sequences) or None,
        "response_format": form,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _named(tool: str) -> JsonDict:
    return {"type": "function", "function": {"name": tool}}


def _messages(
    history: Sequence[ModelMessage], model: str, left_out: Collection[str]
) -> list[Message]:
    """Return the conversation, without vendors' members in `left_out`.

    Neighboring messages of one role are joined, because some servers refuse them.
    """
    messages: list[Message] = []
    for message, call_ids, results in with_results(history, NAME, LONGEST_ID, model):
        if message.role == "assistant":
            own = message.provider == NAME and message.model == model
            _add(messages, _assistant(message, call_ids, left_out, own=own))
            continue
        for call_id, sent_as in call_ids.items():
            messages.append(
                {
                    "role": "tool",
                    "tool_call_id": sent_as,
                    "content": result_text(results[call_id]),
                }
            )
        returned = [
            part
            for call_id in call_ids
            for file in result_files(results[call_id])
            if (part := _part(file))
        ]
        content = [{"type": "text", "text": RETURNED}, *returned] if returned else []
        content += [
            part for block in message.content if (part := _part(block)) is not None
        ]
        if content:
            _add(messages, {"role": "user", "content": _simplest(content)})
    if messages and messages[-1]["role"] == "assistant":
        # Another provider paused this answer. Servers differ in whether they can continue one.
        messages.append({"role": "user", "content": GO_ON})
    return messages


def _add(messages: list[Message], message: Message) -> None:
    last = messages[-1] if messages else {}
    if last.get("role") != message["role"] or "tool_calls" in last:
        messages.append(message)
    else:
        messages[-1] = (
            last | message | {"content": _joined(last["content"], message["content"])}
        )


def _assistant(
    message: ModelMessage,
    call_ids: Mapping[str, str],
    left_out: Collection[str],
    *,
    own: bool,
) -> Message:
    """Return an answer of a model.

    Its thoughts, in their own field, and its vendor's additions are sent back only to the server whose model made it.
    """
    content = ""
    calls = []
    thoughts: dict[str, str] = {}
    members: JsonDict = {}
    for block in message.content:
        match block:
            case {"type": "text", "text": str(text)}:
                content += text
            case {"type": "tool_use", "id": str(call_id)} if call_id in call_ids:
                calls.append(_call(block, call_ids[call_id], left_out, own=own))
            case {"type": "thinking", "thinking": str(text), "field": str(field)} if (
                own and field in THOUGHTS
            ):
                thoughts[field] = thoughts.get(field, "") + text
            case {"type": kind} if own and kind == VENDOR:
                members = block.get(ITEM, {})
    # Servers that want thoughts back want them only beside calls, so that the model can continue thinking.
    added = without_names(
        thoughts | members, left_out if calls else (*left_out, *THOUGHTS)
    )
    if not calls:
        return {"role": "assistant", "content": content or EMPTY} | added
    return {
        "role": "assistant",
        "content": content or None,
        "tool_calls": calls,
    } | added


def _call(
    block: JsonMapping, sent_as: str, left_out: Collection[str], *, own: bool
) -> JsonDict:
    """Return a call, with the vendor's additions if it is its `own` one."""
    kept = block.get(ITEM, {}) if own else {}
    function = {
        "name": sent_name(block["name"]),
        "arguments": json.dumps(block["input"], ensure_ascii=False),
    }
    function |= without_names(kept.get("function", {}), left_out)
    return {"id": sent_as, "type": "function", "function": function} | without_names(
        kept.get("call", {}), left_out
    )


def _joined(before: Content | None, after: Content | None) -> Content | None:
    if before is None or after is None:
        return after if before is None else before
    if isinstance(before, str) and isinstance(after, str):
        return f"{before}\n\n{after}"
    return [*_parts(before), *_parts(after)]


def _part(block: JsonMapping) -> JsonDict | None:
    """Return a part of a person's message; None if it cannot be sent."""
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {
            "type": "image",
            "source": {"type": "base64", "media_type": kind, "data": data},
        }:
            return {
                "type": "image_url",
                "image_url": {"url": f"data:{kind};base64,{data}"},
            }
        case {
            "type": "document",
            "source": {"type": "base64", "media_type": kind, "data": data},
        }:
            file = {
                "filename": block.get("title") or "document.pdf",
                "file_data": f"data:{kind};base64,{data}",
            }
            return {"type": "file", "file": file}
        case _:
            return None


def _simplest(parts: list[JsonDict]) -> Content:
    """Return parts as one text if they are only text, because some servers accept only that."""
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


def _parts(content: Content) -> list[JsonDict]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
