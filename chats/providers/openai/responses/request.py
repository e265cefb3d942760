"""The request to a Responses API: the stored conversation as input items. Pure.

Everything is sent each time, because nothing is stored at the server: a model's own answers as their original items, with its
encrypted thoughts unchanged, and answers of others as plain text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.agent import Agent
from chats.agent.provider import GO_ON, ITEM, ModelMessage, ModelRequest
from chats.providers.openai import settings
from chats.providers.openai.answer import THOUGHTS, THOUGHTS_REFUSED, Payload
from chats.providers.openai.conversation import (
    EMPTY,
    Block,
    result_files,
    result_text,
    with_results,
)
from chats.providers.openai.responses.items import CONTENT, SEALED
from chats.providers.openai.settings import sent_name

NAME = "openai-responses"
#: Arguments that can be left out if a model refuses them. Not `store`: nothing may be kept at the server.
OPTIONAL = (
    "reasoning.effort",
    "reasoning.summary",
    "reasoning",
    "include",
    "temperature",
    "max_output_tokens",
)
#: Maximum length of a call's id in the API, and its minimum limit of an answer.
LONGEST_ID = 64
LOWEST_LIMIT = 16

Item = JsonDict


def request_arguments(
    request: ModelRequest, model: str, without: Collection[str] = ()
) -> Payload:
    """Return the body of the request. `without` names refused arguments of this model, or THOUGHTS."""
    agent = request.agent
    begin = _thoughts_begin(request.messages, model)
    items, thoughts = _items(
        request.messages, model, begin, shown=THOUGHTS not in without
    )
    arguments = {
        "model": model,
        "input": items,
        "stream": True,
        "store": False,
        # Without it, thoughts could only be referred to at a server that stores them.
        "include": ["reasoning.encrypted_content"],
        "instructions": agent.system if agent.system.strip() else None,
        # The limit includes the thoughts.
        "max_output_tokens": max(agent.max_tokens + _budget(agent), LOWEST_LIMIT),
        "temperature": agent.temperature,
        "reasoning": _reasoning(agent, without) or None,
        # A tool is strict unless it says that it is not.
        "tools": [
            {"type": "function", "strict": False, **settings.function_of(tool)}
            for tool in agent.tools
        ]
        or None,
        "tool_choice": settings.tool_choice(
            agent, items[-1].get("role", "") if items else "", _named
        ),
        "text": {"format": {"type": "json_schema", **settings.format_of(agent.output)}}
        if agent.output
        else None,
    }
    sent = {
        name: value
        for name, value in arguments.items()
        if value is not None and name not in without
    }
    return Payload(sent, thoughts)


def problems_of(agent: Agent) -> Iterator[str]:
    """Yield settings of an agent that the API would refuse, with instructions."""
    if agent.stop_sequences:
        yield _(
            "The Responses API does not accept stop sequences. Remove them, or set HITL_PROVIDER=openai."
        )
    yield from settings.problems_of(agent)


def _budget(agent: Agent) -> int:
    """Return an agent's token budget for thoughts, if it has one; the API itself takes only an effort."""
    return agent.thinking if isinstance(agent.thinking, int) else 0


def _reasoning(agent: Agent, without: Collection[str]) -> dict[str, str]:
    options = {"effort": agent.effort, "summary": "auto" if agent.show_thinking else ""}
    return {
        name: value
        for name, value in options.items()
        if value and f"reasoning.{name}" not in without
    }


def _named(tool: str) -> JsonDict:
    return {"type": "function", "name": tool}


def _thoughts_begin(history: Sequence[ModelMessage], model: str) -> int:
    """Return the index from which on thoughts are sent: that of the last answer for which earlier ones were refused."""
    places = range(len(history) - 1, -1, -1)
    return next(
        (
            at
            for at in places
            if history[at].prefix == THOUGHTS_REFUSED and _is_own(history[at], model)
        ),
        0,
    )


def _is_own(message: ModelMessage, model: str) -> bool:
    """Return whether `model` made this answer here; thoughts are encrypted for the model that made them."""
    return (
        message.role == "assistant"
        and message.provider == NAME
        and message.model == model
    )


def _items(
    history: Sequence[ModelMessage], model: str, begin: int, *, shown: bool
) -> tuple[list[Item], int]:
    """Return the conversation, and the number of answers with thoughts from `begin` on, which are sent if they are `shown`."""
    items: list[Item] = []
    seen: set[str] = set()
    thoughts = 0
    for place, (message, call_ids, results) in enumerate(
        with_results(history, NAME, LONGEST_ID)
    ):
        if message.role == "assistant":
            whole = (
                place >= begin and _is_own(message, model) and _goes_back(message, seen)
            )
            has_thoughts = whole and any(
                block.get("type") == "thinking" for block in message.content
            )
            thoughts += has_thoughts
            items += _answer(
                message, call_ids, whole=whole and (shown or not has_thoughts)
            )
            continue
        for call_id, sent_as in call_ids.items():
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": sent_as,
                    "output": _output(results[call_id]),
                }
            )
        content = [
            part for block in message.content if (part := _part(block)) is not None
        ]
        if content:
            items.append({"type": "message", "role": "user", "content": content})
    if items and items[-1].get("role") == "assistant":
        # Another provider paused this answer.
        items.append(
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": GO_ON}],
            }
        )
    return items, thoughts


def _goes_back(message: ModelMessage, seen: set[str]) -> bool:
    """Return whether an answer can be sent as its original items, and note their ids, none of which may occur twice."""
    thoughts = [
        block.get(ITEM) or {}
        for block in message.content
        if block.get("type") == "thinking"
    ]
    ids = {str(block[ITEM]["id"]) for block in message.content if block.get(ITEM)}
    readable = all(thought.get(SEALED) or thought.get(CONTENT) for thought in thoughts)
    fits = readable and not ids & seen
    seen |= ids
    return fits


def _answer(
    message: ModelMessage, call_ids: Mapping[str, str], *, whole: bool
) -> list[Item]:
    """Return an answer of a model; `whole` with its thoughts and the ids of its items, which belong together."""
    items: list[Item | None] = []
    #: The message that the next text may belong to, and its id.
    last_message: tuple[str, Item] | None = None
    for block in message.content:
        kept: JsonMapping = block.get(ITEM) or {}
        named = {"id": kept["id"]} if whole and kept else {}
        match block:
            case {"type": "text", "text": str(text)}:
                # Only messages with an id have parts.
                more: Any = (
                    [{"type": "output_text", "text": text, "annotations": []}]
                    if named
                    else text
                )
                if last_message is not None and last_message[0] == kept.get("id", ""):
                    last_message[1]["content"] += more
                    continue
                status = {"status": kept.get("status", "completed")} if named else {}
                phase = {"phase": kept["phase"]} if kept.get("phase") else {}
                last_message = (
                    kept.get("id", ""),
                    _message(more, **named, **status, **phase),
                )
                items.append(last_message[1])
            case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
                arguments = json.dumps(block["input"], ensure_ascii=False)
                call = {
                    "call_id": call_ids.get(call_id),
                    "name": sent_name(name),
                    "arguments": arguments,
                }
                items.append(
                    {"type": "function_call", **named, **call}
                    if call_id in call_ids
                    else None
                )
                last_message = None
            case {"type": "thinking"} if whole:
                items.append({"type": "reasoning", **kept})
    return _followed(items) or [_message(EMPTY)]


def _message(content: str | list[JsonDict], **more: Any) -> Item:
    return {"type": "message", "role": "assistant", **more, "content": content}


def _followed(items: Sequence[Item | None]) -> list[Item]:
    """Drop None, which stands for a call without a result, and thoughts that nothing follows.

    The API refuses a thought without the model's output after it.
    """
    kept: list[Item] = []
    follows = False
    for item in reversed(items):
        if item is not None and (follows or item["type"] != "reasoning"):
            kept.append(item)
        follows = item is not None and (follows or item["type"] != "reasoning")
    return kept[::-1]


def _output(block: Block) -> str | list[JsonDict]:
    """Return the result of a call: a text, or parts if it has files."""
    files = [part for file in result_files(block) if (part := _part(file)) is not None]
    text = result_text(block)
    return [{"type": "input_text", "text": text}, *files] if files else text


def _part(block: Block) -> JsonDict | None:
    """Return a part of a message for the model; None if it cannot be sent."""
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "input_text", "text": text}
        case {
            "type": "image",
            "source": {"type": "base64", "media_type": kind, "data": data},
        }:
            return {
                "type": "input_image",
                "image_url": f"data:{kind};base64,{data}",
                "detail": "auto",
            }
        case {
            "type": "document",
            "source": {"type": "base64", "media_type": kind, "data": data},
        }:
            name = block.get("title") or "document.pdf"
            return {
                "type": "input_file",
                "filename": name,
                "file_data": f"data:{kind};base64,{data}",
            }
        case _:
            return None
