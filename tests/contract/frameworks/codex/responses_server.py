"""A stand-in of the Responses API on loopback: each request is answered with the next items of a script."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Item = dict[str, Any]
#: An item of the script, or a function that makes one of all the results the model has got so far.
Step = Item | Callable[[dict[str, str]], Item]


def shell(call: str, command: str, **more: Any) -> Item:
    """A call of Codex's shell."""
    return _call(call, "exec_command", cmd=command, **more)


def types(call: str, into: str, text: str) -> Step:
    """A call that types a text into the command started by the call `into`, and waits for the output."""

    def item(outputs: dict[str, str]) -> Item:
        session = re.search(r"session ID (\d+)", outputs[into])
        assert session is not None, outputs[into]
        return _call(call, "write_stdin", session_id=int(session[1]), chars=text, yield_time_ms=30_000)

    return item


def _call(call: str, name: str, **arguments: Any) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{call}",
        "call_id": call,
        "name": name,
        "arguments": json.dumps(arguments),
    }


def searches(query: str) -> Item:
    """A search of the web, which has run at the provider of the model: the same answer goes on with the next item."""
    action = {"type": "search", "query": query}
    return {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}


def says(words: str) -> Item:
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": words}]}


class ResponsesServer:
    """`outputs` are the results of each call for the model, `last` is its whole last request, and `tools` are the names or
    types of its tools.
    """

    def __init__(self) -> None:
        self.script: list[Step] = []
        self.outputs: dict[str, str] = {}
        self.last = ""
        self.tools: set[str] = set()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stand_in.last = json.dumps(body["input"])
                stand_in.tools = {tool.get("name", tool["type"]) for tool in body["tools"]}
                items = [one for one in body["input"] if one["type"] == "function_call_output"]
                stand_in.outputs |= {one["call_id"]: str(one["output"]) for one in items}
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1}
                done = {"id": "resp_1", "usage": usage | {"output_tokens_details": None, "total_tokens": 2}}
                self.event("response.created", response={"id": "resp_1"})
                for place, item in enumerate(stand_in.answer()):
                    self.event("response.output_item.done", output_index=place, item=item)
                self.event("response.completed", response=done)

            def event(self, kind: str, **data: Any) -> None:
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)

    def answer(self) -> list[Item]:
        """The items of the next answer."""
        step = self.script.pop(0)
        item = step if isinstance(step, dict) else step(self.outputs)
        return [item, *self.answer()] if item["type"] == "web_search_call" else [item]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/v1"

    def __enter__(self) -> ResponsesServer:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()
        assert kind is not None or not self.script, f"{len(self.script)} scripted items were never asked for"
