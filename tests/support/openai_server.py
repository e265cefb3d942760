"""OpenAI's Chat Completions API, streaming, as a local server, to test the provider for OpenAI.

    with OpenAIServer() as server:
        server.will(says("One moment.", call("call_1", "getWeather", city="Paris")))
        server.will(refuses(503, "server_error", retry_after="0"), says("It is clear."))
        ...  # a client with base_url=server.base_url and the key KEY
        assert server.requests[0].body["model"] == "gpt-5.5"

Transport and replies are those of `tests.support.anthropic_server`. Requests that the real API would
refuse get its 400 (see `tests.support.openai_rules`), and the next reply stays.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.anthropic_server import AnthropicServer, Reply, Request
from tests.support.openai_rules import objections

# The SDK names the platform in its first request, and Python starts `uname` to learn it, once.
platform.platform()

KEY = "sk-proj-only-for-tests-0123456789"
MODELS = ("gpt-5.5", "gpt-4o", "deepseek-v4", "deepseek-thinks", "gemini-3", "magistral", "local-model")

Chunk = dict[str, Any]


def call(call_id: str, name: str, **value: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(value)}}


def chunk(delta: Chunk | None = None, finish_reason: str | None = None, **more: Any) -> Chunk:
    """One event of a stream; without a delta or a reason it has no choice in it."""
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish_reason, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "gpt-5.5-2026-09-01",
        "choices": [choice] if delta is not None or finish_reason else [],
    }


def usage(**given: Any) -> Chunk:
    """The last event, which says how many tokens were used."""
    amounts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} | given
    return chunk() | {"usage": amounts}


def error(code: str | int, message: str = "as scripted") -> Chunk:
    return {"error": {"message": message, "type": "server_error", "param": None, "code": code}}


def answer(
    words: str = "",
    *calls: dict[str, Any],
    finish_reason: str = "",
    size: int = 7,
    thoughts: str = "",
    refusal: str = "",
) -> list[Chunk]:
    """The events of an answer up to its end, in pieces of `size` characters."""
    events = [chunk({"role": "assistant", "content": "" if words else None, "refusal": None})]
    for name, whole in (("reasoning_content", thoughts), ("content", words), ("refusal", refusal)):
        events += [chunk({name: part}) for part in parts(whole, size)]
    for index, made in enumerate(calls):
        function = made["function"]
        begin = {"index": index, **made, "function": {"name": function["name"], "arguments": ""}}
        events.append(chunk({"tool_calls": [begin]}))
        for part in parts(function["arguments"], size):
            events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
    return [*events, chunk({}, finish_reason or ("tool_calls" if calls else "stop"))]


def says(words: str = "", *calls: dict[str, Any], used: Chunk | None = None, **given: Any) -> Reply:
    return plays(*answer(words, *calls, **given), used or usage())


def plays(*events: Any, done: bool = True) -> Reply:
    """Any events; `Close`, bytes and `threading.Event` go as they are."""
    items = [encode(event) if isinstance(event, dict) or event is None else event for event in events]
    return Reply(items=[*items, *([b"data: [DONE]\n\n"] if done else [])])


def refuses(
    status: int,
    kind: str = "server_error",
    message: str = "as scripted",
    code: str | None = None,
    param: str | None = None,
    **headers: str,
) -> Reply:
    body = json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}}).encode()
    return Reply(items=[body], status=status, headers={name.replace("_", "-"): it for name, it in headers.items()})


def encode(event: Any) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def parts(words: str, size: int) -> Sequence[str]:
    return [words[start : start + size] for start in range(0, len(words), size)]


class OpenAIServer(AnthropicServer):
    """See the module."""

    path = "/v1/chat/completions"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def objections(self, body: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Every reason to answer 400: its words, and the `param` and `code` that go with them."""
        return objections(body)

    def reply(self, request: Request) -> Reply:
        return self.replies.pop(0)

    def take(self, request: Request) -> Reply:
        """Record a request; gives its reply."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            given, model = request.headers.get("authorization", ""), request.body["model"]
            if request.path != self.path:
                return Reply(items=[b"404 page not found"], status=404)
            if given != f"Bearer {KEY}":
                words = f"Incorrect API key provided: {given[len('Bearer ') :]}. You can find your API key at ..."
                return refuses(401, "invalid_request_error", words, "invalid_api_key")
            if model not in MODELS:
                words = f"The model `{model}` does not exist or you do not have access to it."
                return refuses(404, "invalid_request_error", words, "model_not_found")
            words, param, code = next(self.objections(request.body), ("", "", ""))
            self.refused += [words] if words else []
            if words or not self.replies:
                told = {"message": words or "The test has scripted no more replies.", "type": "invalid_request_error"}
                body = {"error": told | {"param": param or None, "code": code or None}}
                return Reply(items=[json.dumps(body).encode()], status=400)
            return self.reply(request)
