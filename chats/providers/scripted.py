"""The scripted provider: plays an agent's script, offline and deterministically.

Use it for demos, to develop without a key, and to test agents (docs/how-to/test-agents-offline.md).
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from uuid import uuid4

from approvals.json_types import JsonDict
from chats.agent.events import (
    Event,
    ModelFinished,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolInputDelta,
    ToolInputReady,
    ToolInputStarted,
)
from chats.agent.provider import ModelMessage, ModelRequest, is_context
from chats.agent.script import Conversation, Say, Use, fill

MODEL = "scripted"
#: Seconds between two words of a text without a pause of its own.
PAUSE = 0.01


class ScriptedProvider:
    """Play the agent's `script`. A sentence that matches no conversation is answered with example sentences."""

    name = "scripted"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        text, since = _last_user_text(request.messages)
        step = sum(message.role == "assistant" for message in since)
        conversation, groups = _find(request.agent.script, text)
        values = groups | _results(since)
        acts = conversation.steps[step] if step < len(conversation.steps) else ()
        blocks: list[JsonDict] = []
        for index, act in enumerate(acts):
            if isinstance(act, Say):
                spoken = str(fill(act.text, values))
                async for event in _say(
                    f"text-{index}", spoken, PAUSE if act.pause is None else act.pause
                ):
                    yield event
                blocks.append({"type": "text", "text": spoken})
            else:
                call_id = f"call_{uuid4().hex[:24]}"
                arguments = fill(act.input, values)
                block = {
                    "type": "tool_use",
                    "id": call_id,
                    "name": act.tool,
                    "input": arguments,
                }
                for event in _use(block):
                    yield event
                blocks.append(block)
        used_tool = any(isinstance(act, Use) for act in acts)
        yield ModelFinished(
            blocks,
            "tool_use" if used_tool else "end_turn",
            MODEL,
            _usage(request.messages, blocks),
        )


async def _say(part_id: str, text: str, pause: float) -> AsyncIterator[Event]:
    yield TextStarted(part_id)
    for word in re.findall(r"\S+\s*|\s+", text):
        await asyncio.sleep(pause)
        yield TextDelta(part_id, word)
    yield TextEnded(part_id)


def _use(block: JsonDict) -> Sequence[Event]:
    text = json.dumps(block["input"])
    middle = len(text) // 2
    return [
        ToolInputStarted(block["id"], block["name"]),
        ToolInputDelta(block["id"], text[:middle]),
        ToolInputDelta(block["id"], text[middle:]),
        ToolInputReady(block["id"], block["name"], block["input"]),
    ]


def _find(script: Sequence[Conversation], text: str) -> tuple[Conversation, JsonDict]:
    for conversation in script:
        groups = conversation.match(text)
        if groups is not None:
            return conversation, dict(groups)
    known = "\n".join(
        f"- `{conversation.example}`" for conversation in script if conversation.example
    )
    answer = (
        f"I am the scripted provider: no model is connected. Sentences I know:\n\n{known}"
        if known
        else "I have no script."
    )
    return Conversation("", [[Say(answer)]]), {}


def _last_user_text(
    messages: Sequence[ModelMessage],
) -> tuple[str, Sequence[ModelMessage]]:
    """Return the text of the user's last message, and the messages after it."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != "user":
            continue
        texts = [
            block["text"]
            for block in message.content
            if block["type"] == "text" and not is_context(block)
        ]
        if texts:
            return "\n".join(texts), messages[position + 1 :]
    return "", messages


def _results(since: Sequence[ModelMessage]) -> JsonDict:
    """Return the last step's results: `results` one by one, `answers` as one text."""
    results: list[str] = []
    if since and since[-1].role == "user":
        results = [
            _result_text(block["content"])
            for block in since[-1].content
            if block["type"] == "tool_result"
        ]
    return {"results": results, "answers": " and ".join(results)}


def _result_text(content: str | list[JsonDict]) -> str:
    """Return a tool result as text for people: the text, the response, the chosen labels, or the raw content."""
    if isinstance(content, list):
        # A result with files begins with its text.
        content = str(content[0]["text"])
    try:
        value = json.loads(content)
    except ValueError:
        return content
    if isinstance(value, dict):
        for key in ("text", "response"):
            if isinstance(value.get(key), str) and value[key]:
                return str(value[key])
        if isinstance(value.get("selected"), list):
            return ", ".join(map(str, value["selected"]))
        return ", ".join(
            f"{key} {item}"
            for key, item in value.items()
            if not isinstance(item, dict | list)
        )
    return value if isinstance(value, str) else content


def _usage(
    messages: Sequence[ModelMessage], blocks: Sequence[JsonDict]
) -> dict[str, int]:
    """Return the usage; words count as tokens."""
    texts = [
        str(block["text"])
        for message in messages
        for block in message.content
        if "text" in block
    ]
    input_tokens = sum(len(text.split()) for text in texts)
    return {
        "input_tokens": input_tokens,
        "output_tokens": sum(len(json.dumps(block).split()) for block in blocks),
    }
