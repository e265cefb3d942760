"""OpenAI's Responses API, streaming, as a local server, to test the provider for it.

    with ResponsesServer() as server:
        server.will(says(thought("rs_1", "Better ask."), call("call_1", "issueRefund", amount=250)))
        server.will(refuses(503, "server_error", retry_after="0"), says(message("It is refunded.")))
        ...  # a client with base_url=server.base_url and the key KEY
        assert server.requests[0].body["store"] is False

Transport and replies are those of `tests.support.anthropic_server`. Requests that the real API would
refuse get its 400 (see `tests.support.responses.rules`), and the next reply stays. Nothing is stored: a thought comes
back as it was sent, or is refused, and so is one of another server, which stands for another account.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.support.anthropic_server import Reply, Request
from tests.support.openai_server import KEY, OpenAIServer, encode, parts, plays, refuses
from tests.support.responses.rules import Objection, objections

__all__ = [
    "KEY",
    "ResponsesServer",
    "answer",
    "call",
    "done",
    "error",
    "message",
    "plays",
    "refuses",
    "says",
    "thought",
]

Item = dict[str, Any]
Event = dict[str, Any]

_numbers = itertools.count(1)


def message(words: str = "", *, refusal: str = "", phase: str = "", item_id: str = "") -> Item:
    content: list[Item] = [{"type": "output_text", "text": words, "annotations": [], "logprobs": []}] if words else []
    content += [{"type": "refusal", "refusal": refusal}] if refusal else []
    said = {"id": item_id or f"msg_{next(_numbers)}", "type": "message", "role": "assistant", "status": "completed"}
    return said | {"content": content} | ({"phase": phase} if phase else {})


def call(call_id: str, name: str, *, item_id: str = "", **value: Any) -> Item:
    made = {"id": item_id or f"fc_{next(_numbers)}", "type": "function_call", "status": "completed"}
    return made | {"call_id": call_id, "name": name, "arguments": json.dumps(value)}


def thought(item_id: str = "", *summary: str, sealed: str = "") -> Item:
    """A thought, which only the server can read; people may read the `summary`."""
    item_id = item_id or f"rs_{next(_numbers)}"
    texts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": item_id, "type": "reasoning", "summary": texts, "encrypted_content": sealed or f"gAAAA-{item_id}=="}


def response(status: str = "in_progress", **given: Any) -> Item:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "model": "gpt-5.5-2026-09-01",
        "status": status,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
        **given,
    }


def usage(**given: Any) -> Item:
    amounts = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return amounts | details | given


def added(index: int, item: Item) -> Event:
    """An item begins, without its text and its encrypted content."""
    empty = {"content": [], "summary": [], "arguments": "", "encrypted_content": "", "status": "in_progress"}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    return {"type": "response.output_item.added", "output_index": index, "item": begun}


def pieces(index: int, item: Item, size: int = 7) -> Iterator[Event]:
    """The events between the beginning and the end of an item."""
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        for piece in parts(item["arguments"], size):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        yield {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]}
    for number, part in enumerate(item.get("summary", ())):
        there = at | {"summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **there, "part": part | {"text": ""}}
        for piece in parts(part["text"], size):
            yield {"type": "response.reasoning_summary_text.delta", **there, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **there, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **there, "part": part}
    for number, part in enumerate(item.get("content", ())):
        there = at | {"content_index": number}
        kind = part["type"].removeprefix("output_")
        name, said = ("refusal", "refusal") if kind == "refusal" else (part["type"], "text")
        yield {"type": "response.content_part.added", **there, "part": part | {said: ""}}
        for piece in parts(part[said], size):
            yield {"type": f"response.{name}.delta", **there, "delta": piece}
        yield {"type": f"response.{name}.done", **there, said: part[said]}
        yield {"type": "response.content_part.done", **there, "part": part}


def done(index: int, item: Item) -> Event:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def begins() -> list[Event]:
    return [{"type": f"response.{name}", "response": response()} for name in ("created", "in_progress")]


def ends(*items: Item, reason: str = "", used: Item | None = None, **given: Any) -> Event:
    """The last event; with a `reason`, the answer is incomplete."""
    status = "incomplete" if reason else "completed"
    details = {"reason": reason} if reason else None
    whole = response(status, output=list(items), usage=used or usage(), incomplete_details=details, **given)
    return {"type": f"response.{status}", "response": whole}


def answer(*items: Item, size: int = 7, **given: Any) -> list[Event]:
    """The events of a whole answer, in pieces of `size` characters."""
    events = begins()
    for index, item in enumerate(items):
        events += [added(index, item), *pieces(index, item, size), done(index, item)]
    return numbered([*events, ends(*items, **given)])


def numbered(events: list[Event]) -> list[Event]:
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def says(*items: Item, size: int = 7, **given: Any) -> Reply:
    made = answer(*items, size=size, **given)
    return Reply(items=[named(event) for event in made], blocks=items)


def named(event: Event) -> bytes:
    """This API names its events, and does not end its streams with a word."""
    return f"event: {event['type']}\n".encode() + encode(event)


def error(code: str, words: str = "as scripted") -> Event:
    return {"type": "error", "code": code, "message": words, "param": None}


def fails(code: str, words: str = "as scripted") -> Event:
    return {"type": "response.failed", "response": response("failed", error={"code": code, "message": words})}


class ResponsesServer(OpenAIServer):
    """See the module. `thoughts` are those it has sent, by id: the encrypted content and the items after it."""

    path = "/v1/responses"

    def __init__(self) -> None:
        super().__init__()
        self.thoughts: dict[str, tuple[str, str]] = {}
        self.needed: dict[str, str] = {}

    def objections(self, body: dict[str, Any]) -> Iterator[Objection]:
        yield from objections(body)
        given = {item["id"] for item in body["input"] if item.get("type") == "reasoning"}
        for item in body["input"]:
            if item.get("type") == "reasoning":
                yield from self._of_thought(item, body["model"])
            if (needed := self.needed.get(item.get("id", ""))) and needed not in given:
                kind = f"Item '{item['id']}' of type '{item['type']}'"
                yield f"{kind} was provided without its required 'reasoning' item: '{needed}'.", "input", ""

    def _of_thought(self, item: Item, model: str) -> Iterator[Objection]:
        sealed = item.get("encrypted_content")
        if not sealed and not item.get("content"):
            words = "Items are not persisted when `store` is set to false."
            yield f"Item with id '{item['id']}' not found. {words}", "input", ""
        if self.thoughts.get(item["id"]) != (sealed, model):
            words = f"The encrypted content {str(sealed)[:4]}... could not be verified."
            yield words, "", "invalid_encrypted_content"

    def reply(self, request: Request) -> Reply:
        """Take the next reply, and remember its thoughts."""
        reply = super().reply(request)
        before = ""
        for item in reply.blocks:
            if item["type"] == "reasoning":
                self.thoughts[item["id"]] = item["encrypted_content"], request.body["model"]
                before = item["id"]
            elif before:
                self.needed[item["id"]], before = before, ""
        return reply
