"""A stand-in of Mattermost: posts with buttons, dialogs and a slash command, as its documentation describes them.

As a program, it presses a button in a stand-in that runs: `python -m tests.contract.relay.mattermost URL ACCOUNT LABEL TEXT`.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import httpx

TOKEN = "bot-token"


class Mattermost:
    """One server. `posts` are those of all direct channels by id, `ephemeral` what one person alone has seen."""

    def __init__(self) -> None:
        self.posts: dict[str, dict[str, Any]] = {}
        self.ephemeral: list[str] = []
        self.dialogs: list[dict[str, Any]] = []
        #: Where the slash command is set up to post.
        self.command_url = ""

    def __enter__(self) -> Mattermost:
        handler = type("BoundHandler", (_Handler,), {"mattermost": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def call(self, method: str, path: str, body: Any) -> Any:
        """Return the answer of the API, or None if there is no such call."""
        match method, path.removeprefix("/api/v4/").split("/"):
            case "GET", ["users", "me"]:
                return {"id": "bot"}
            case "POST", ["channels", "direct"]:
                return {"id": f"direct-{body[1]}"}
            case "POST", ["posts"]:
                post = {"props": {}, **body, "id": uuid4().hex[:26]}
                self.posts[post["id"]] = post
                return post
            case "POST", ["posts", "ephemeral"]:
                self.ephemeral.append(body["post"]["message"])
                return body["post"]
            case "PUT", ["posts", post_id, "patch"]:
                self.posts[post_id] |= body
                return self.posts[post_id]
            case "POST", ["actions", "dialogs", "open"]:
                self.dialogs.append(body)
                return {"status": "OK"}
        return None

    def buttons(self, post: dict[str, Any]) -> dict[str, dict[str, Any]]:
        attachments = post["props"].get("attachments", [])
        return {action["name"]: action for each in attachments for action in each.get("actions") or []}

    def press(self, account: str, label: str, text: str = "") -> None:
        """Press the newest button with this label as this account does, and fill the dialog that it opens in."""
        if label == "link":
            form = {"user_id": account, "user_name": account, "command": "/pausepoint", "trigger_id": "t"}
            self.ephemeral.append(httpx.post(self.command_url, data=form).json()["text"])
            return
        theirs = [post for post in self.posts.values() if post["channel_id"] == f"direct-{account}"]
        pressed = [found[label] for post in theirs if label in (found := self.buttons(post))]
        if not pressed:
            return
        integration = pressed[-1]["integration"]
        click = {"user_id": account, "user_name": account, "trigger_id": "t", "context": integration["context"]}
        answer = httpx.post(integration["url"], json=click, timeout=30).json()
        if answer.get("ephemeral_text"):
            self.ephemeral.append(answer["ephemeral_text"])
        if self.dialogs:
            dialog = self.dialogs.pop()
            sent = {"type": "dialog_submission", "user_id": account, "state": dialog["dialog"]["state"]}
            httpx.post(dialog["url"], json=sent | {"submission": {"text": text}}, timeout=30)


class _Handler(BaseHTTPRequestHandler):
    mattermost: Mattermost

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        if self.path == "/press":
            self.mattermost.press(*body)
            answer: Any = {}
        else:
            allowed = self.headers["Authorization"] == f"Bearer {TOKEN}"
            answer = self.mattermost.call(self.command, self.path, body) if allowed else None
        text = json.dumps(answer).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


if __name__ == "__main__":
    httpx.post(f"{sys.argv[1]}/press", json=sys.argv[2:], timeout=30)
