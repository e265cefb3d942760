"""A relay between Pausepoint and Mattermost: messages with buttons, and a slash command that links accounts.

It needs Python and two packages, httpx and standardwebhooks. README.md has the settings.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import httpx
from standardwebhooks import Webhook

DESK = os.environ["PAUSEPOINT_RELAY"]
HOOK = Webhook(os.environ["PAUSEPOINT_RELAY_SECRET"])
MATTERMOST = os.environ["MATTERMOST_URL"] + "/api/v4/"
BOT = {"Authorization": f"Bearer {os.environ['MATTERMOST_TOKEN']}"}
#: Where Mattermost reaches this program. It signs nothing, so the path has a secret.
KEY = os.environ["RELAY_KEY"]
OWN = f"{os.environ['RELAY_URL']}/{KEY}"
FILE = os.environ.get("RELAY_FILE", "relay.sqlite3")
#: Events come one by one, so that no version of a message overtakes another.
LOCK = threading.Lock()


def query(statement: str, *values: str) -> list[Any]:
    with sqlite3.connect(FILE) as database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, post, data)"
        )
        return database.execute(statement, values).fetchall()


def shown_now(message: str) -> tuple[str, dict[str, Any]]:
    """Return the post of a message and its newest version; empty if there is none."""
    rows = query("SELECT post, data FROM messages WHERE id = ?", message)
    return (rows[0][0], json.loads(rows[0][1])) if rows else ("", {})


def mattermost(method: str, path: str, body: Any = None) -> Any:
    response = httpx.request(method, MATTERMOST + path, json=body, headers=BOT)
    return response.raise_for_status().json()


def desk(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Post a signed body to Pausepoint, and return its answer, also if it is a refusal."""
    text = json.dumps(body)
    now = datetime.now(UTC)
    message_id = f"msg_{uuid.uuid4()}"
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": HOOK.sign(message_id, now, text),
    }
    answer: dict[str, Any] = httpx.post(
        f"{DESK}/{path}", content=text, headers=headers
    ).json()
    return answer


def literal(text: str) -> str:
    """Return Markdown that shows a text as it is: a block of code, whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def post_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the text of a post, and its buttons."""
    actions = [
        {
            "id": f"answer{number}",
            "name": answer["label"],
            "integration": {
                "url": f"{OWN}/click",
                "context": {"message": data["message"], "number": number},
            },
        }
        for number, answer in enumerate(data.get("answers", []))
    ]
    parts = [data[name] for name in ("title", "text") if name in data]
    text = "\n".join([*map(literal, parts), f"[Open]({data['open']})"])
    return {"message": text, "props": {"attachments": [{"actions": actions}]}}


def channel_of(account: str) -> str:
    bot = mattermost("GET", "users/me")["id"]
    channel: str = mattermost("POST", "channels/direct", [bot, account])["id"]
    return channel


def take_event(event: dict[str, Any]) -> None:
    """Show what Pausepoint has sent. Types that are unknown, and late versions of a message, change nothing."""
    data = event["data"]
    if event["type"] not in {"request.show", "request.end", "notice"}:
        return
    with LOCK:
        post, before = shown_now(data.get("message", ""))
        if before and before["revision"] >= data["revision"]:
            return
        if post:
            mattermost("PUT", f"posts/{post}/patch", post_of(data))
        else:
            new = {"channel_id": channel_of(data["account"]), **post_of(data)}
            post = mattermost("POST", "posts", new)["id"]
        if "message" in data:
            values = (data["message"], post, json.dumps(data))
            query("REPLACE INTO messages VALUES (?, ?, ?)", *values)


def answered(context: dict[str, Any], account: str, text: str = "") -> str:
    """Post an answer to Pausepoint, and return the outcome in words."""
    _post, data = shown_now(context["message"])
    answers = data.get("answers", [])
    if context["number"] >= len(answers):
        return "This message can no longer be answered."
    chosen = answers[context["number"]]
    body = {"token": data["token"], "account": account, "verdict": chosen["verdict"]}
    body |= {"option": chosen["option"]} if "option" in chosen else {}
    body |= {"message": text} if text else {}
    return str(desk("answers", body)["detail"])


def take_click(click: dict[str, Any]) -> dict[str, Any]:
    """Answer a button at once, or open a dialog where a message may be needed."""
    context = click["context"]
    answers = shown_now(context["message"])[1].get("answers", [])
    chosen = answers[context["number"]] if context["number"] < len(answers) else {}
    needs = chosen.get("message", "none")
    if needs == "none" or (needs == "optional" and chosen["verdict"] == "approve"):
        return {"ephemeral_text": literal(answered(context, click["user_id"]))}
    field = {"display_name": "Message", "name": "text", "type": "textarea"}
    dialog = {
        "title": chosen["label"][:24],
        "elements": [field | {"optional": needs == "optional"}],
        "state": json.dumps(context),
    }
    opened = {"trigger_id": click["trigger_id"], "url": f"{OWN}/dialog"}
    mattermost("POST", "actions/dialogs/open", opened | {"dialog": dialog})
    return {}


def take_dialog(sent: dict[str, Any]) -> dict[str, Any]:
    text = (sent.get("submission") or {}).get("text") or ""
    detail = answered(json.loads(sent["state"]), sent["user_id"], text)
    post = {"channel_id": channel_of(sent["user_id"]), "message": literal(detail)}
    mattermost("POST", "posts/ephemeral", {"user_id": sent["user_id"], "post": post})
    return {}


def take_command(form: dict[str, list[str]]) -> dict[str, Any]:
    """Answer the slash command with a link that its author alone sees."""
    body = {"account": form["user_id"][0], "name": form["user_name"][0]}
    answer = desk("links", body)
    text = f"[Link your account]({answer['url']})" if "url" in answer else "Try again."
    return {"response_type": "ephemeral", "text": text}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer: dict[str, Any] = {}
        status = 200
        match self.path.split("/"):
            case ["", ""]:
                try:
                    event = HOOK.verify(body, dict(self.headers.items()))
                except Exception:
                    status = 401
                else:
                    take_event(event)
            case ["", key, "click"] if key == KEY:
                answer = take_click(json.loads(body))
            case ["", key, "dialog"] if key == KEY:
                answer = take_dialog(json.loads(body))
            case ["", key, "command"] if key == KEY:
                answer = take_command(parse_qs(body.decode()))
            case _:
                status = 404
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "9100"))
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
