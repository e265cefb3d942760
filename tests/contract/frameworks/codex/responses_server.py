"""A stand-in of the Responses API on loopback: each request is answered with the next items of a script."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Item = dict[str, Any]


def shell(call: str, command: str) -> Item:
    """A call of Codex's shell."""
    arguments = json.dumps({"cmd": command})
    return {
        "type": "function_call",
        "id": f"fc_{call}",
        "call_id": call,
        "name": "exec_command",
        "arguments": arguments,
    }


def says(words: str) -> Item:
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": words}]}


class ResponsesServer:
    """`outputs` are what the model was told about each call, and `last` is all of what it was last told."""

    def __init__(self) -> None:
        self.script: list[Item] = []
        self.outputs: dict[str, str] = {}
        self.last = ""
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stand_in.last = json.dumps(body["input"])
                items = [one for one in body["input"] if one["type"] == "function_call_output"]
                stand_in.outputs |= {one["call_id"]: str(one["output"]) for one in items}
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1}
                done = {"id": "resp_1", "usage": usage | {"output_tokens_details": None, "total_tokens": 2}}
                self.event("response.created", response={"id": "resp_1"})
                self.event("response.output_item.done", output_index=0, item=stand_in.script.pop(0))
                self.event("response.completed", response=done)

            def event(self, kind: str, **data: Any) -> None:
                self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)

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
