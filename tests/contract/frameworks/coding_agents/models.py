"""A stand-in of the model APIs that coding agents call, on loopback: Chat Completions of OpenAI, and Gemini's.

Each request with tools is answered with the next step of a script: words, or the calls of one message.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

#: The name of a tool and its input.
Call = tuple[str, dict[str, Any]]
Step = str | list[Call]
Document = dict[str, Any]


class ModelServer:
    """`told` is the text of the last request: all that the agent has told its model so far."""

    def __init__(self) -> None:
        self.script: list[Step] = []
        self.told = ""
        self._calls = 0
        self._lock = threading.Lock()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.answer({"object": "list", "data": [{"id": "m", "object": "model"}]})

            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["content-length"])).decode()
                body = json.loads(sent)
                step = stand_in.next_step(body)
                gemini = "enerateContent" in self.path
                document = (
                    stand_in.gemini(step) if gemini else stand_in.completion(step, stream=bool(body.get("stream")))
                )
                if body.get("stream") or "stream" in self.path:
                    self.stream(document, done=not gemini)
                else:
                    self.answer(document)

            def answer(self, document: Document) -> None:
                content = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def stream(self, document: Document, *, done: bool) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                end = "data: [DONE]\n\n" if done else ""
                self.wfile.write(f"data: {json.dumps(document)}\n\n{end}".encode())

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)

    def next_step(self, body: Document) -> Step:
        """Return the answer to a request. Agents also ask for titles and routes, without tools."""
        if not body.get("tools"):
            return "ok"
        with self._lock:
            self.told = json.dumps(body.get("messages") or body.get("contents"), ensure_ascii=False)
            return self.script.pop(0) if self.script else "done"

    def completion(self, step: Step, *, stream: bool) -> Document:
        message: Document = {"role": "assistant", "content": step if isinstance(step, str) else None}
        if not isinstance(step, str):
            message["tool_calls"] = [self._tool_call(place, *call) for place, call in enumerate(step)]
        choice = {"index": 0, "finish_reason": "stop" if isinstance(step, str) else "tool_calls"}
        return {
            "id": "c",
            "created": 1_790_000_000,
            "model": "m",
            "object": "chat.completion.chunk" if stream else "chat.completion",
            "choices": [choice | {"delta" if stream else "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def _tool_call(self, place: int, name: str, arguments: Document) -> Document:
        self._calls += 1
        function = {"name": name, "arguments": json.dumps(arguments)}
        return {"index": place, "id": f"call_{self._calls}", "type": "function", "function": function}

    def gemini(self, step: Step) -> Document:
        parts: list[Document] = (
            [{"text": step}]
            if isinstance(step, str)
            else [{"functionCall": {"name": name, "args": arguments}} for name, arguments in step]
        )
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3", "totalTokens": 2}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def __enter__(self) -> ModelServer:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
        assert kind is not None or not self.script, f"{len(self.script)} scripted steps were never asked for"
