"""A real `manage.py serve` with a database of its own, and people who use it over HTTP without JavaScript."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from hitlsite.demo.people import PASSWORD
from tests.support.processes import databases
from tests.support.processes.databases import Database
from tests.support.processes.ports import free_port
from tests.support.processes.starting import Process, SetUp, set_up_for

T = TypeVar("T")

#: Seconds for something immediate on an idle machine; nothing waits longer than necessary.
PATIENCE = 120.0
PREPARED = """
import django; django.setup()
from django.core.management import call_command
{prepare}
call_command("serve", port={port})
"""
MAKE_KEY = """
from django.contrib.auth.models import User
from approvals.administration.keys.actions import create_key
print(create_key(User.objects.get(username={user!r}), name={name!r}, scopes={scopes!r})[1], end="")
"""


def until(probe: Callable[[], T], what: str, seconds: float = PATIENCE) -> T:
    """Return the first truthy value of `probe`; if none comes in time, fail with the last one."""
    deadline = time.monotonic() + seconds
    while not (found := probe()):
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s; last seen: {found!r}"
        time.sleep(0.02)
    return found


def environment(database: Database, **more: str) -> dict[str, str]:
    settings = {"DEBUG": "1", "DATABASE_URL": database.url, "DJANGO_SETTINGS_MODULE": "hitlsite.settings"}
    # pytest keeps the name of the test there, for which a process that is set up would be set up again each time.
    known = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return known | settings | more


class Server:
    """Starts, stops, dies and starts again on the same database and port."""

    def __init__(
        self,
        folder: Path,
        *,
        beside: Server | None = None,
        database: str = "sqlite",
        prepare: str = "",
        **settings: str,
    ) -> None:
        """A server with a database of its own, of a kind that `databases.make` knows, or with that of another server.

        `prepare` is Python that its process runs before it serves.
        """
        self.database = beside.database if beside is not None else databases.make(database, folder / "served.sqlite3")
        self.owns_database = beside is None
        #: Where the files of requests are, as the setting of that name says it.
        self.attachments = json.dumps({"location": str(folder / "attachments")})
        self.log = folder / ("beside.log" if beside is not None else "served.log")
        self.settings, self.prepare = settings, prepare
        self.port = 0
        self.process: Process | None = None
        self._set_up: SetUp | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        if self._set_up is not None:
            self._set_up.end()
        if self.owns_database:
            self.database.drop()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, **settings: str) -> None:
        """Serve, on a free port the first time and on the same one from then on; returns when it listens."""
        self.settings |= settings
        self.port = self.port or free_port()
        words = ["manage.py", "serve", "--port", str(self.port)]
        if self.prepare:
            words = ["-c", PREPARED.format(prepare=self.prepare, port=self.port)]
        with self.log.open("wb") as log:
            self.process = self._forks.start(words, log)
        until(self._listens, "`serve` says where it listens")

    def _listens(self) -> bool:
        written = self.log.read_text()
        assert self.process is not None
        assert self.process.poll() is None, f"serve ended at once:\n{written}"
        return f" {self.address}/ " in written

    def stop(self, seconds: float = PATIENCE) -> int:
        """SIGTERM, and the exit code."""
        return self._end(signal.SIGTERM, seconds)

    def kill(self) -> int:
        """kill -9."""
        return self._end(signal.SIGKILL, PATIENCE)

    def _end(self, number: signal.Signals, seconds: float) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def run(self, script: str, seconds: float = 2 * PATIENCE) -> str:
        """Run Python with the project's settings on this database, in a process of its own; return its output."""
        done = self._forks.run(script, seconds)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def _forks(self) -> SetUp:
        """The process that starts servers and scripts with these settings: Django's slow set-up is done once."""
        env = environment(self.database, ATTACHMENTS_OPTIONS=self.attachments, **self.settings)
        log = self.log.with_suffix(".scripts")
        self._set_up = set_up_for(env, self._set_up, log, pages=not self.prepare)
        return self._set_up

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.database.rows(sql, *values)

    def value(self, sql: str, *values: Any) -> Any:
        ((found,),) = self.rows(sql, *values)
        return found

    def turn(self, chat: int) -> str:
        """The state of a chat's last turn."""
        return str(self.value("SELECT state FROM chats_turn WHERE chat_id = ? ORDER BY id DESC LIMIT 1", chat))

    def wait_for_turn(self, chat: int, state: str) -> None:
        until(lambda: self.turn(chat) == state, f"chat {chat} is {state}")

    def key(self, user: str, *scopes: str, name: str = "tests") -> str:
        """Return a new API key of `user`, which may ask, decide and read unless scopes are given."""
        return self.run(MAKE_KEY.format(user=user, name=name, scopes=scopes or ("ask", "decide", "read")))

    def person(self, name: str) -> Person:
        person = Person(self, name)
        person.log_in()
        return person


class Page(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Person:
    """A browser without JavaScript: cookies, forms, CSRF."""

    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.cookies: dict[str, str] = {}

    def log_in(self) -> None:
        self.get("/login/")
        assert self.post("/login/", username=self.name, password=PASSWORD).status == 302

    def get(self, path: str, **headers: str) -> Page:
        return self.send("GET", path, None, headers)

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: object) -> Page:
        form = urlencode({**fields, "csrfmiddlewaretoken": self.cookies["csrftoken"]})
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.send("POST", path, form, kind | (headers or {}))

    def start_chat(self, text: str, agent: str = "support") -> int:
        """Write into a new chat; gives its number."""
        sent = self.post("/chats/new/", text=text, agent=agent)
        assert sent.status == 302, sent.text
        return int(sent.headers["location"].strip("/").split("/")[-1])

    def pause(self, text: str) -> tuple[int, str]:
        """A new chat that has paused: its number, and the id of the one request that it waits for."""
        chat = self.start_chat(text)
        self.server.wait_for_turn(chat, "suspended")
        (request,) = set(re.findall(r'id="request-([0-9a-f-]{36})"', self.get(f"/chats/{chat}/").text))
        return chat, request

    def decide(self, request: str, **fields: object) -> Page:
        """Press a button of its page, with the digest of the displayed content."""
        shown = re.search(r"sha256:[0-9a-f]{64}", self.get(f"/requests/{request}/").text)
        return self.post(f"/requests/{request}/decide/", **{"digest": shown.group() if shown else "", **fields})

    def send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Page:
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        sent = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        with contextlib.closing(connection):
            connection.request(method, path, body, headers | ({"Cookie": sent} if sent else {}))
            response = connection.getresponse()
            for cookie in response.msg.get_all("Set-Cookie", []):
                self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(cookie).items()}
            found = {name.lower(): value for name, value in response.getheaders()}
            return Page(response.status, found, response.read().decode())
