"""A relay and a real server: everybody answers at once, the server dies, and the message ends all the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.proofs.server.test_slack import at_once
from tests.support.desk.relay import Chat
from tests.support.machine import Remote
from tests.support.processes.ports import free_port
from tests.support.processes.server import Server, until
from tests.support.receiver import answer, silent

ROUNDS = 4
DECIDED = "SELECT count(*) FROM approvals_auditentry WHERE event = 'request.decided'"
CONNECT = """
from django.contrib.auth.models import User
from approvals.actions.channels.relays import sealed
from approvals.models import ChannelAccount, ChannelConnection, NotificationRule, Relay
from approvals.states import Route
connection = ChannelConnection.objects.create(
    kind="relay", team_id={name!r}, team_name={name!r}, secret=sealed({secret!r}))
Relay.objects.create(connection=connection, address={address!r}, shows="input")
approver = User.objects.get(username="approver")
ChannelAccount.objects.create(connection=connection, team_id={name!r}, external_id="u-1", user=approver)
NotificationRule.objects.create(person=approver, route=Route.RELAY, relay=connection)
"""


class Scene:
    """A server that is connected to a relay, with a linked person."""

    def __init__(self, server: Server, chat: Chat) -> None:
        self.server = server
        self.chat = chat
        server.run(CONNECT.format(name=chat.name, secret=chat.secret, address=chat.url()))
        self.agent = Remote(server, "requester")
        self.decided_before = server.value(DECIDED)

    def ask(self, title: str) -> tuple[str, dict[str, Any]]:
        asked = self.agent.ask(title=title)
        return asked["id"], until(lambda: self.shown(title), "the message is shown")

    def shown(self, title: str) -> dict[str, Any] | None:
        return next((each for each in [*self.chat.shown.values()] if each["title"] == title), None)

    def answer(self, message: dict[str, Any], verdict: str) -> tuple[int, dict[str, Any]]:
        body = json.dumps({"token": message["token"], "account": message["account"], "verdict": verdict}).encode()
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {"Content-Type": "application/json", **self.chat.signed(body)}
        connection.request("POST", f"/api/v1/relays/{self.chat.name}/answers", body, headers)
        response = connection.getresponse()
        parsed: dict[str, Any] = json.loads(response.read())
        connection.close()
        return response.status, parsed

    def status(self, request: str) -> str:
        return str(self.agent.send("GET", f"/requests/{request}").body["status"])

    def decided(self) -> int:
        return int(self.server.value(DECIDED)) - int(self.decided_before)


@contextmanager
def scene(tmp_path: Path) -> Iterator[Scene]:
    port = free_port()
    with Chat() as chat:
        served = Server(tmp_path, PUBLIC_URL=f"http://127.0.0.1:{port}", HITL_WEBHOOK_ALLOW_PRIVATE="1")
        served.port = port
        with served as server:
            yield Scene(server, chat)


def test_relay_page_and_program_answer_at_once_and_one_wins(tmp_path):
    with scene(tmp_path) as desk:
        page = desk.server.person("admin")
        program = Remote(desk.server, "approver", ("decide", "read"))
        for number in range(ROUNDS):
            request, message = desk.ask(f"Refund {number}?")
            answers = at_once(
                lambda message=message: desk.answer(message, "reject"),
                lambda message=message: desk.answer(message, "approve"),
                lambda request=request: program.send("POST", f"/requests/{request}/decision", {"verdict": "approve"}),
                lambda request=request: page.decide(request, verdict="approve"),
            )
            by_relay = [status for status, _body in answers[:2]]
            assert set(by_relay) <= {200, 409}
            until(lambda message=message: message["message"] in desk.chat.ended, "the message ends")
            ended = desk.chat.ended[message["message"]]["text"]
            decision = desk.agent.send("GET", f"/requests/{request}").body["decision"]
            word = "Approved" if decision["verdict"] == "approve" else "Rejected"
            assert f"{word} by {decision['by']}" in ended
            if decision["via"] == "relay":
                assert 200 in by_relay
        assert desk.decided() == ROUNDS


def test_a_message_ends_after_a_kill_between_the_decision_and_its_end(tmp_path):
    with scene(tmp_path) as desk:
        request, message = desk.ask("Refund order 4711?")
        ends = threading.Event()

        def hold(got: Any) -> Any:
            ends.set()
            return silent

        desk.chat.behave = hold
        desk.chat.status = 503
        assert desk.answer(message, "approve")[0] == 200
        until(ends.is_set, "the end is tried")
        desk.server.kill()
        assert message["message"] in desk.chat.shown
        desk.chat.behave = lambda got: answer(204)
        desk.chat.status = 204
        desk.server.start()
        until(lambda: message["message"] in desk.chat.ended, "the message ends")
        assert "Approved by approver" in desk.chat.ended[message["message"]]["text"]
        assert (desk.status(request), desk.decided()) == ("approved", 1)
        replayed = desk.answer(message, "reject")
        assert (replayed[0], replayed[1]["code"]) == (409, "token_used")
