"""The stand-in of Teams: see `tests/support/teams/__init__.py` for how to use it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote
from uuid import uuid4

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.support.slack.delivery import Post, by_http
from tests.support.teams.cards import Json, errors, words
from tests.support.teams.people import Person

BOT_FRAMEWORK = "https://api.botframework.com"
#: A card was posted, but the answer is lost.
LOST = (-1, "")
UNREACHED = (-2, "")


@dataclass
class Message:
    """A message in a conversation; `thread` is the id of the message that it replies to."""

    id: str
    conversation: Conversation
    activity: Json
    thread: str = ""
    earlier: list[Json] = field(default_factory=list)

    @property
    def card(self) -> Json:
        [attachment] = self.activity["attachments"]
        return dict(attachment["content"])

    @property
    def words(self) -> str:
        return words(self.card)


@dataclass
class Conversation:
    id: str
    kind: str
    messages: list[Message] = field(default_factory=list)
    with_bot: bool = True


class Teams:
    """A tenant with a bot. Leaving the block fails while objections are left."""

    def __init__(self, endpoint: str = "", post: Post = by_http) -> None:
        self.endpoint = endpoint
        self.post = post
        self.app_id, self.tenant = str(uuid4()), str(uuid4())
        self.bot_id = f"28:{self.app_id}"
        self.client_secret = "the-client-secret"
        self.bearer = f"token-{uuid4()}"
        self.key = rsa.generate_private_key(65537, 2048)
        self.kid = "key-1"
        self.people: dict[str, Person] = {}
        self.conversations: dict[str, Conversation] = {}
        self.calls: list[tuple[str, str]] = []
        self.objections: list[str] = []
        #: Statuses and codes that the next calls of a method get.
        self.faults: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self.changed = threading.Condition()

    def __enter__(self) -> Teams:
        handler = type("BoundHandler", (Handler,), {"teams": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.service = f"{self.url}teams/"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        if kind is None:
            assert self.objections == []

    def person(self, name: str) -> Person:
        return self.people.setdefault(name, Person(self, name))

    def channel(self, name: str, *, with_bot: bool = True) -> Conversation:
        place = Conversation(f"19:{name}@thread.tacv2", "channel", with_bot=with_bot)
        return self.conversations.setdefault(place.id, place)

    def link_to(self, channel: Conversation) -> str:
        """Return the link that people copy from the menu of a channel."""
        place = channel.id.replace(":", "%3A").replace("@", "%40")
        return f"https://teams.microsoft.com/l/channel/{place}/ops?groupId={uuid4()}&tenantId={self.tenant}"

    def personal(self, person: Person) -> Conversation:
        return self.conversations.setdefault(f"a:{person.id}", Conversation(f"a:{person.id}", "personal"))

    def message_with(self, channel: Conversation, text: str) -> Message | None:
        """Return the newest message of a channel with these words, that is no reply."""
        shown = [each for each in channel.messages if text in each.words and not each.thread]
        return shown[-1] if shown else None

    def until(self, look: Callable[[], Any], seconds: float) -> Any:
        """Return what `look` returns as soon as it is true, looking again after each message."""
        end = time.monotonic() + seconds
        with self.changed:
            while not (seen := look()):
                assert time.monotonic() < end, "it did not come true in time"
                self.changed.wait(0.2)
        return seen

    def token(self, **changes: Any) -> str:
        """Return a token of the Bot Framework, with other claims than usual."""
        now = int(time.time())
        claims = {
            "iss": BOT_FRAMEWORK,
            "aud": self.app_id,
            "serviceurl": self.service,
            "nbf": now - 10,
            "exp": now + 600,
        }
        kept = {name: value for name, value in (claims | changes).items() if value is not None}
        return jwt.api_jws.encode(json.dumps(kept).encode(), self.key, "RS256", {"kid": self.kid})

    def keys(self) -> Json:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": self.kid, "use": "sig", "endorsements": ["msteams"]}]}

    def deliver(self, activity: Any, token: str | None = None) -> tuple[int, bytes]:
        """Bring an activity to the bot, and return the status and the body of the answer."""
        bearer = self.token() if token is None else token
        headers = {"Content-Type": "application/json; charset=utf-8", "Authorization": f"Bearer {bearer}"}
        status, _headers, body = self.post(self.endpoint, headers, json.dumps(activity).encode())
        return status, body

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Json]:
        if path.endswith("/keys"):
            return 200, self.keys()
        if path == f"/{self.tenant}/oauth2/v2.0/token":
            return self._log_in(parse_qs(body.decode()))
        if path.endswith("/oauth2/v2.0/token"):
            return 400, {"error": "invalid_request"}
        place, activity = self._place(path)
        if place is None:
            return 404, {"error": {"code": "ConversationNotFound", "message": "Conversation not found."}}
        if not place.with_bot:
            return 403, {"error": {"code": "BotNotInConversationRoster", "message": "The bot is not part of it."}}
        content = json.loads(body)
        self.objections += errors(content)
        with self.changed:
            self.changed.notify_all()
            if method == "PUT":
                [message] = [each for each in place.messages if each.id == activity]
                message.earlier.append(message.card)
                message.activity = content
                # Everyone sees the message again, also those who saw an answer in its place.
                for person in self.people.values():
                    person.own.pop(message.id, None)
                return 200, {"id": message.id}
            message = Message(str(1_700_000_000_000 + len(self.calls)), place, content, activity)
            place.messages.append(message)
            return 201, {"id": message.id}

    def _log_in(self, fields: dict[str, list[str]]) -> tuple[int, Json]:
        sent = {name: values[0] for name, values in fields.items()}
        wanted = {"grant_type": "client_credentials", "scope": "https://api.botframework.com/.default"}
        wanted |= {"client_id": self.app_id, "client_secret": self.client_secret}
        if sent.get("client_id") != self.app_id:
            return 400, {"error": "unauthorized_client"}
        if sent != wanted:
            return 401, {"error": "invalid_client"}
        return 200, {"token_type": "Bearer", "expires_in": 3599, "access_token": self.bearer}

    def _place(self, path: str) -> tuple[Conversation | None, str]:
        """Return the conversation of an address, with the activity that it names or replies to."""
        match = re.fullmatch(r"/teams/v3/conversations/([^/]+)/activities(?:/([^/]+))?", path)
        if match is None:
            return None, ""
        name, _separator, thread = unquote(match[1]).partition(";messageid=")
        return self.conversations.get(name), thread or unquote(match[2] or "")


class Handler(BaseHTTPRequestHandler):
    teams: Teams
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def _handle(self) -> None:
        teams = self.teams
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        teams.calls.append((self.command, self.path))
        connector = self.path.startswith("/teams/")
        fault = teams.faults[self.command].pop(0) if connector and teams.faults[self.command] else (0, "")
        if connector and self.headers["Authorization"] != f"Bearer {teams.bearer}":
            fault = (401, "Unauthorized")
        if fault[0] > 0:
            self._send(fault[0], {"error": {"code": fault[1]}})
            return
        if fault == UNREACHED:
            self.close_connection = True
            return
        if self.path == "/teams/v3/conversations":
            [member] = json.loads(body)["members"]
            people = [each for each in teams.people.values() if each.id == member["id"]]
            status, answer = (201, {"id": teams.personal(people[0]).id}) if people else (404, {})
        else:
            status, answer = teams.answer(self.command, self.path, body)
        if fault == LOST:
            self.close_connection = True
            return
        self._send(status, answer)

    do_GET = do_POST = do_PUT = _handle

    def _send(self, status: int, answer: Json) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(content)
