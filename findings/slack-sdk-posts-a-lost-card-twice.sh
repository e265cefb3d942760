#!/usr/bin/env bash
# Slack's SDK (Python): a program posts a card with buttons by `chat_postMessage`. The server has read the request, and the connection ends before its
# answer arrives: a proxy restarts, a keep-alive connection has been closed.
# Guess: an error, since nobody knows whether the card was posted, and the program decides. Seen: the SDK sends the request again without a word,
# with the plain client as with the asynchronous one, and reports the second card. The first one stays in the channel with its buttons, and the
# program doesn't know its `ts`, so it never updates it. What Slack has certainly not done, 429 with `Retry-After`, is not repeated but an error.
# A server error and an answer that takes longer than `timeout` are errors, too. `retry_handlers=[]` posts once.
# Fails if that has changed. (The server is a stand-in on this machine.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check slack-sdk==3.48.0 aiohttp==3.14.5
cd "$folder"
venv/bin/python - <<'PYTHON'
import asyncio
import json
import logging
import socket
import struct
import threading
from importlib.metadata import version

from slack_sdk import WebClient
from slack_sdk.web.async_client import AsyncWebClient

logging.disable(logging.CRITICAL)
#: Makes `close` reset the connection.
RESET = struct.pack("ii", 1, 0)


class Slack:
    """A stand-in for Slack that posts each card that it reads, and answers all of them but the first one as it should."""

    def __init__(self, first):
        self.first, self.cards = first, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/api/"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                self.read(connection)
                self.cards.append(f"{len(self.cards) + 1}.0")
                self.answer(connection, self.first if len(self.cards) == 1 else "posted")

    def read(self, connection):
        request = connection.makefile("rb")
        assert b"chat.postMessage" in request.readline()
        headers = dict(line.decode().lower().strip().split(": ", 1) for line in iter(request.readline, b"\r\n"))
        request.read(int(headers["content-length"]))

    def answer(self, connection, how):
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if how == "late":
            threading.Event().wait(2)
        if how in ("closed", "reset", "late"):
            return
        status = {"posted": "200 OK", "busy": "429 Too Many Requests", "broken": "500 Internal Server Error"}[how]
        body = json.dumps({"ok": how == "posted", "ts": self.cards[-1]})
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())


def plain(url, **options):
    return WebClient("xoxb-1", base_url=url, timeout=1, **options).chat_postMessage(channel="C1", text="Pay 5,000?")


def asynchronous(url, **options):
    async def post():
        return await AsyncWebClient("xoxb-1", base_url=url, timeout=1, **options).chat_postMessage(channel="C1", text="Pay 5,000?")

    return asyncio.run(post())


def outcome(post, first, **options):
    """Post a card; return how many cards are in the channel, and the one that the program knows."""
    slack = Slack(first)
    try:
        known = post(slack.url, **options)["ts"]
    except Exception:
        known = "error"
    return len(slack.cards), known


seen = {
    post.__name__: {first: outcome(post, first) for first in ("posted", "closed", "reset", "late", "broken", "busy")}
    | {"closed, no handlers": outcome(post, "closed", retry_handlers=[])}
    for post in (plain, asynchronous)
}
print("slack-sdk", version("slack-sdk"), "expected one card or none, seen (cards, known):", seen)
once = {"late": (1, "error"), "broken": (1, "error"), "busy": (1, "error"), "closed, no handlers": (1, "error")}
twice = {"closed": (2, "2.0"), "reset": (2, "2.0")}
assert seen == dict.fromkeys(("plain", "asynchronous"), {"posted": (1, "1.0"), **twice, **once})
PYTHON
