"""One way to script the stand-in server of every provider, so that the same stories can be played against all of them."""

from __future__ import annotations

from typing import Any, ClassVar

from chats.agent.provider import Provider
from chats.providers.anthropic import AnthropicProvider
from chats.providers.openai import OpenAIProvider, ResponsesProvider
from tests.support import anthropic_server as claude
from tests.support import openai_server as openai
from tests.support.anthropic_server import AnthropicServer, Close, Reply
from tests.support.responses import server as responses

PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>upstream</body></html>"

Call = tuple[str, str, dict[str, Any]]


class ClaudeStand:
    """Claude, at the stand-in of the Messages API."""

    name, key, model = "anthropic", claude.KEY, "claude-sonnet-4-6"
    answered_by: ClassVar = {"model": "claude-sonnet-4-6-20260901", "message_id": "msg_1"}
    request_id = "request-id"
    #: The argument of a request that holds the conversation.
    history = "messages"
    address = "ANTHROPIC_BASE_URL"
    words: ClassVar = {"done": "end_turn", "calls": "tool_use", "length": "max_tokens", "refused": "refusal"}

    def __init__(self) -> None:
        self.server = AnthropicServer()

    def configure(self, settings: Any, monkeypatch: Any) -> None:
        settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL = self.name, self.key, self.model
        monkeypatch.setenv("ANTHROPIC_BASE_URL", self.server.url)

    def provider(self, key: str = "") -> Provider:
        return AnthropicProvider(api_key=key or self.key, model=self.model, base_url=self.server.url)

    def says(self, words: str = "", *calls: Call, reason: str = "") -> Reply:
        reason = reason or ("calls" if calls else "done")
        return claude.says(*self._blocks(words, calls), stop_reason=self.words.get(reason, reason))

    def breaks(self, words: str = "", *end: Any) -> Reply:
        """A stream that ends, or goes on as given, after some words and before its end."""
        events = claude.answer(*self._blocks(words, ()))[: -3 if words else -2]
        return Reply(items=[*events, *(end or (Close.EARLY,))])

    def refuses(self, status: int, message: str = "as scripted", **headers: str) -> Reply:
        kind = {400: "invalid_request_error", 429: "rate_limit_error"}.get(status, "api_error")
        return claude.refuses(status, kind, message, **headers)

    def error(self, message: str) -> Any:
        return claude.error("api_error", message)

    def malformed(self) -> list[Any]:
        name = b"event: message_start\n"
        return [name + b"data: null\n\n", name + b"data: [1\n\n", name + b"data: [1]\n\n"]

    def conversation(self) -> list[tuple[str, Any]]:
        """Return the model's view in the last request: the messages with their roles, the calls, and their results."""
        told: list[tuple[str, Any]] = []
        for message in self.server.requests[-1].body["messages"]:
            for block in message["content"]:
                match block["type"]:
                    case "text":
                        told.append((message["role"], block["text"]))
                    case "tool_use":
                        told.append(("call", (block["name"], block["input"])))
                    case "tool_result":
                        told.append(("result", block["content"]))
        return told

    def _blocks(self, words: str, calls: tuple[Call, ...]) -> list[dict[str, Any]]:
        texts = [claude.text(words)] if words else []
        return [*texts, *(claude.tool_use(call_id, name, **value) for call_id, name, value in calls)]


class OpenAIStand:
    """A model at the stand-in of the Chat Completions API."""

    name, key, model = "openai", openai.KEY, "gpt-4o"
    answered_by: ClassVar = {"model": "gpt-5.5-2026-09-01", "message_id": "chatcmpl-1"}
    request_id = "x-request-id"
    history = "messages"
    address = "OPENAI_BASE_URL"
    words: ClassVar = {"done": "stop", "calls": "tool_calls", "length": "length", "refused": "content_filter"}

    def __init__(self) -> None:
        self.server = openai.OpenAIServer()

    def configure(self, settings: Any, monkeypatch: Any) -> None:
        settings.HITL_PROVIDER, settings.OPENAI_API_KEY, settings.HITL_MODEL = self.name, self.key, self.model
        settings.OPENAI_BASE_URL = self.server.base_url

    def provider(self, key: str = "") -> Provider:
        return OpenAIProvider(api_key=key or self.key, model=self.model, base_url=self.server.base_url)

    def says(self, words: str = "", *calls: Call, reason: str = "") -> Reply:
        made = [openai.call(call_id, name, **value) for call_id, name, value in calls]
        return openai.says(words, *made, finish_reason=self.words.get(reason, reason))

    def breaks(self, words: str = "", *end: Any) -> Reply:
        events = openai.answer(words)[:-1] if words else []
        return openai.plays(*events, *(end or (Close.EARLY,)), done=False)

    def refuses(self, status: int, message: str = "as scripted", **headers: str) -> Reply:
        return openai.refuses(status, "", message, **headers)

    def error(self, message: str) -> Any:
        return openai.error(500, message)

    def malformed(self) -> list[Any]:
        return [b"data: null\n\n", b"data: [1\n\n", openai.chunk() | {"choices": [None]}]

    def conversation(self) -> list[tuple[str, Any]]:
        told: list[tuple[str, Any]] = []
        for message in self.server.requests[-1].body["messages"]:
            if message.get("content"):
                told.append(("result" if message["role"] == "tool" else message["role"], message["content"]))
            calls = [call["function"] for call in message.get("tool_calls", [])]
            told += [("call", (call["name"], openai.json.loads(call["arguments"]))) for call in calls]
        return told


class ResponsesStand(OpenAIStand):
    """A model at the stand-in of the Responses API, on one's own machine, where it takes every argument."""

    name, model, history = "openai-responses", "local-model", "input"
    answered_by: ClassVar = {"model": "gpt-5.5-2026-09-01", "message_id": "resp_1"}
    words: ClassVar = {"done": "", "calls": "", "length": "max_output_tokens", "refused": "content_filter"}

    def __init__(self) -> None:
        self.server = responses.ResponsesServer()

    def provider(self, key: str = "") -> Provider:
        return ResponsesProvider(api_key=key or self.key, model=self.model, base_url=self.server.base_url)

    def says(self, words: str = "", *calls: Call, reason: str = "") -> Reply:
        made = [responses.call(call_id, name, **value) for call_id, name, value in calls]
        said = [responses.message(words)] if words else []
        return responses.says(*said, *made, reason=self.words.get(reason, reason))

    def breaks(self, words: str = "", *end: Any) -> Reply:
        events = responses.answer(responses.message(words)) if words else responses.begins()
        return openai.plays(*events[: -4 if words else None], *(end or (Close.EARLY,)), done=False)

    def error(self, message: str) -> Any:
        return responses.error("server_error", message)

    def malformed(self) -> list[Any]:
        return [b"data: null\n\n", b"data: [1\n\n", {"type": "response.output_text.delta", "delta": "lost"}]

    def conversation(self) -> list[tuple[str, Any]]:
        told: list[tuple[str, Any]] = []
        for item in self.server.requests[-1].body["input"]:
            match item["type"]:
                case "message":
                    said = item["content"]
                    texts = [said] if isinstance(said, str) else [part["text"] for part in said]
                    told += [(item["role"], text) for text in texts]
                case "function_call":
                    told.append(("call", (item["name"], openai.json.loads(item["arguments"]))))
                case "function_call_output":
                    told.append(("result", item["output"]))
        return told


STANDS = (ClaudeStand, OpenAIStand, ResponsesStand)
Stand = ClaudeStand | OpenAIStand
