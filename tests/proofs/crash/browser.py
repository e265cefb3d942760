"""A person at a browser without JavaScript, who tries again when the server is away."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from typing import Any

GONE = (ConnectionError, http.client.HTTPException, urllib.error.URLError, TimeoutError)


class Refused(Exception):
    """The server answered, with an error."""


class Browser:
    def __init__(self, base: str, name: str, password: str) -> None:
        self.base, self.name, self.password = base, name, password
        self.jar = CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def log_in(self) -> None:
        self.get("/login/")
        self.post("/login/", username=self.name, password=self.password)

    def get(self, path: str) -> str:
        return self.send(urllib.request.Request(self.base + path))  # noqa: S310 - our own server

    def post(self, path: str, **fields: str) -> str:
        data = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": self.token}).encode()
        return self.send(urllib.request.Request(self.base + path, data))  # noqa: S310

    def post_json(self, path: str, body: Any) -> str:
        """Send a body as a script on a page does."""
        headers = {"Content-Type": "application/json", "X-CSRFToken": self.token}
        return self.send(urllib.request.Request(self.base + path, json.dumps(body).encode(), headers))  # noqa: S310

    @property
    def token(self) -> str:
        return next((cookie.value or "" for cookie in self.jar if cookie.name == "csrftoken"), "")

    def send(self, request: urllib.request.Request) -> str:
        try:
            with self.opener.open(request, timeout=60) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as refusal:
            # An answer, not an absence: it must not be taken for a server that is away.
            raise Refused(refusal.code, refusal.read().decode()) from refusal


def words(page: str) -> str:
    """The page's text without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
