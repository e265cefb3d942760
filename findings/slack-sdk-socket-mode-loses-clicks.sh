#!/usr/bin/env bash
# Slack's SDK (Python), Socket Mode: Slack sends a click over the WebSocket. It comes in two frames, which every server and proxy may make of one
# message (RFC 6455, 5.4); or its one frame pauses in the middle for four seconds, on a bad line.
# Guess: the click arrives, whole. Seen: of two frames, the client takes neither: the first one is no JSON, and the second one is "an unsupported data
# frame". After a pause it has forgotten the beginning, and takes the rest for new frames: the click is lost, and depending on its bytes the clicks after
# it. The client stays connected all the time, and says nothing above the level DEBUG. Slack never sends a click again.
# Fails if that has changed. (The server is a stand-in on this machine.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check slack-sdk==3.48.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import base64
import hashlib
import json
import logging
import os
import socket
import struct
import threading
import time
from importlib.metadata import version

from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

logging.disable(logging.CRITICAL)
TEXT, CONTINUATION, FINAL = 0x1, 0x0, 0x80


def frame(opcode, data):
    length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack("!H", len(data))
    return bytes([opcode]) + length + data


def click(name):
    return json.dumps({"type": "interactive", "envelope_id": name, "payload": {"name": name, "more": "x" * 300}}).encode()


class Slack:
    """A stand-in for Slack's side of the WebSocket."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"ws://127.0.0.1:{self.socket.getsockname()[1]}/link"
        threading.Thread(target=self.accept, daemon=True).start()
        self.connected = threading.Event()

    def accept(self):
        self.connection, _ = self.socket.accept()
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.connection.recv(4096)
        lines = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
        key = next(line.split(": ")[1] for line in head.decode().split("\r\n") if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        assert lines["upgrade"] == "websocket"
        answer = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
        self.connection.sendall(answer.encode())
        self.connected.set()
        while self.connection.recv(4096):
            pass  # Acknowledgements and pings.

    def send(self, *parts, pause=0.0):
        for part in parts:
            self.connection.sendall(part)
            time.sleep(pause)


def received(send):
    """Return the clicks that the client takes, of one sent by `send` and of a plain one after it."""
    slack, taken = Slack(), []
    client = SocketModeClient("xapp-1", auto_reconnect_enabled=False, ping_interval=60)
    client.wss_uri = slack.url

    def take(client, request):
        taken.append(request.envelope_id)
        client.send_socket_mode_response(SocketModeResponse(request.envelope_id))

    client.socket_mode_request_listeners.append(take)
    client.connect()
    slack.connected.wait(10)
    send(slack)
    slack.send(frame(FINAL | TEXT, click("next")))
    time.sleep(1)
    return taken, "connected" if client.is_connected() else "disconnected"


def whole(slack):
    slack.send(frame(FINAL | TEXT, click("first")))


def in_two_frames(slack):
    text = click("first")
    slack.send(frame(TEXT, text[:200]), frame(FINAL | CONTINUATION, text[200:]))


def with_a_pause(slack):
    whole_frame = frame(FINAL | TEXT, click("first"))
    slack.send(whole_frame[:200], whole_frame[200:], pause=4.0)


seen = {how.__name__: received(how) for how in (whole, in_two_frames, with_a_pause)}
print("slack-sdk", version("slack-sdk"), "expected first and next, seen:", seen)
correct = seen == {
    "whole": (["first", "next"], "connected"),
    "in_two_frames": (["next"], "connected"),
    "with_a_pause": (["next"], "connected"),
}
# Threads of the client would keep the process.
os._exit(0 if correct else 1)
PYTHON
