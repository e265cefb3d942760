"""An API client with a key, in this process through Django's test client or against a server over HTTP."""

from __future__ import annotations

import contextlib
import json
from http.client import HTTPConnection
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.test import Client

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from tests.support.processes.server import Server

API = "/api/v1"

#: The smallest request that can be asked.
APPROVAL = {"kind": "approval", "title": "Refund order 4711?", "tool_name": "refund", "input": {"amount": 120}}
QUESTION = {"kind": "question", "title": "Which size?"}


class Reply(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def refusal(self) -> tuple[int, str]:
        """Status and code of a problem document; fails for anything else."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.body["status"] == self.status
        assert set(self.body) >= {"type", "title", "detail"}
        return self.status, self.body["code"]

    @property
    def replayed(self) -> bool:
        return self.headers.get("idempotent-replayed") == "true"


class Machine:
    """Calls with a key of `user`, or with other headers if given."""

    def __init__(self, user: User | None = None, scopes: tuple[str, ...] = SCOPES, **headers: str) -> None:
        self.headers = headers
        if user is not None:
            self.key, text = create_key(user, name="a machine", scopes=scopes)
            self.headers = {"authorization": f"Bearer {text}", **headers}
        self.client = Client(raise_request_exception=False)

    @property
    def scope(self) -> str:
        return f"key:{self.key.pk}"

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in (self.headers | headers).items()}
        kind = sent.pop("content-type", "application/json")
        # Named apart too: for an empty body the test client leaves the type out.
        response = self.client.generic(method, API + path, body or b"", kind, headers=sent, CONTENT_TYPE=kind)
        found = {name.lower(): value for name, value in response.headers.items()}
        parsed = json.loads(response.content) if "json" in found["content-type"] and response.content else None
        return Reply(response.status_code, parsed, found)

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        return self.send("POST", path, json.dumps({} if body is None else body).encode(), **headers)

    def ask(self, body: dict[str, Any] = APPROVAL, **changes: Any) -> dict[str, Any]:
        """Ask something new; the request's document."""
        reply = self.post("/requests", body | changes)
        assert reply.status == 201, reply
        return reply.body

    def decide(self, request: dict[str, Any], verdict: str, **said: Any) -> Reply:
        return self.post(f"/requests/{request['id']}/decision", {"verdict": verdict, **said})


class Remote:
    """A program that calls a real server with this key, or with a key of its own for one of the demo's people."""

    def __init__(self, server: Server, user: str, scopes: tuple[str, ...] = SCOPES, *, key: str = "") -> None:
        self.server, self.user = server, user
        self.key = key or server.key(user, *scopes, name="remote")

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=90)
        sent = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **headers}
        with contextlib.closing(connection):
            connection.request(method, API + path, None if body is None else json.dumps(body), sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            text = response.read().decode()
        is_json = found["content-type"].partition(";")[0] in {"application/json", "application/problem+json"}
        return Reply(response.status, json.loads(text) if is_json and text else text, found)

    def ask(self, **changes: Any) -> dict[str, Any]:
        reply = self.send("POST", "/requests", APPROVAL | changes)
        assert reply.status == 201, reply
        return reply.body
