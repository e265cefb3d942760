"""Slack and a real server: everybody answers at once, the server dies, and its cards are right all the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine import Remote
from tests.support.processes.ports import free_port
from tests.support.processes.server import PATIENCE, Server, until
from tests.support.processes.server import Person as Browser
from tests.support.slack import Slack
from tests.support.slack.faults import LOST, UNREACHED
from tests.support.slack.people import Person
from tests.support.slack.workspace import Channel, Message

#: Rounds in which everybody answers the same request.
ROUNDS = 4
DECIDED = "SELECT count(*) FROM approvals_auditentry WHERE event = 'request.decided'"
#: Connects the desk, gives everybody the right to decide, links the people of Slack, and sends cards to the channel.
CONNECT = """
from django.contrib.auth.models import User
from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.models import ChannelAccount, ChannelConnection, NotificationRule
from approvals.states import Route
from approvals.models.channels import Shows
slack = {slack!r}
secrets = ChannelSecrets(slack["bot_token"], slack["signing_secret"], slack["app_token"])
connection = ChannelConnection.objects.create(kind="slack", app_id=slack["app_id"], team_id=slack["team_id"],
    team_name="Acme", bot_id="UBOT", secret=encrypted(secrets), socket_state={socket_state!r})
approver = User.objects.get(username="approver")
for name, external in {people!r}.items():
    person = User.objects.get(username=name)
    person.user_permissions.set(approver.user_permissions.all())
    person.groups.add(*approver.groups.all())
    ChannelAccount.objects.create(connection=connection, team_id=slack["team_id"], external_id=external, user=person)
NotificationRule.objects.create(person=approver, route=Route.BUTTONS, channel_id={channel!r}, shows=Shows.INPUT)
"""


class Scene:
    """A server that is connected to the stand-in, with a channel and two people who are linked."""

    def __init__(self, server: Server, slack: Slack, *, socket_mode: bool) -> None:
        self.server = server
        self.slack = slack
        self.people = {name: slack.person(name) for name in ("approver", "auditor")}
        self.ops: Channel = slack.channel("ops", *self.people.values())
        workspace = slack.workspace
        tokens = ("bot_token", "signing_secret", "app_token", "app_id", "team_id")
        connect = CONNECT.format(
            slack={name: getattr(workspace, name) for name in tokens},
            socket_state="lost" if socket_mode else "",
            people={name: person.id for name, person in self.people.items()},
            channel=self.ops.id,
        )
        server.run(connect)
        slack.request_url = f"{server.address}/api/slack/interactivity"
        slack.socket.enabled = socket_mode
        self.agent = Remote(server, "requester")
        self.decided_before = server.value(DECIDED)

    def decided(self) -> int:
        """Return how many decisions are on record, besides those of the demo."""
        return int(self.server.value(DECIDED)) - int(self.decided_before)

    def ask(self, title: str) -> tuple[str, Message]:
        """Ask, and return the id of the request and its card."""
        asked = self.agent.ask(title=title)
        card = self.slack.until(lambda: self.slack.message_with(self.ops, title), PATIENCE)
        return asked["id"], card

    def person(self, name: str) -> Person:
        return self.people[name]

    def status(self, request: str) -> str:
        return str(self.agent.send("GET", f"/requests/{request}").body["status"])

    def until_ended(self, card: Message) -> None:
        """Wait until the card has no button that answers."""
        self.slack.until(lambda: set(card.buttons) <= {"pausepoint.open"}, PATIENCE)


@contextmanager
def scene(tmp_path: Path, *, socket_mode: bool = False) -> Iterator[Scene]:
    port = free_port()
    with Slack() as slack:
        slack.be_patient()
        settings = {"SLACK_API_URL": slack.api, "HITL_WEBHOOK_ALLOW_PRIVATE": "1"}
        served = Server(tmp_path, PUBLIC_URL=f"http://127.0.0.1:{port}", **settings)
        served.port = port
        with served as server:
            yield Scene(server, slack, socket_mode=socket_mode)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make these calls at the same time, and return their results."""
    barrier = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def call(index: int) -> None:
        barrier.wait(PATIENCE)
        results[index] = calls[index]()

    threads = [threading.Thread(target=call, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return results


def mcp_outcome(server: Server, key: str, request: str) -> dict[str, Any]:
    """Call the tool `check_request`, which waits for the decision."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "check_request", "arguments": {"request_id": request}},
    }
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("POST", "/mcp", json.dumps(message), headers)
    text = connection.getresponse().read().decode()
    connection.close()
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    answer = json.loads(lines[-1] if lines else text)
    return dict(answer["result"]["structuredContent"])


@dataclass
class Answers:
    """The answers to one request; the program, which is the fastest, answers after the click if it is `late`."""

    desk: Scene
    page: Browser
    program: Remote
    request: str
    card: Message
    late: bool

    def __post_init__(self) -> None:
        self.click = self.desk.person("auditor").click_payload(self.card, "pausepoint.approve")
        self.clicked = threading.Event()

    def by_program(self) -> None:
        if self.late:
            self.clicked.wait(PATIENCE)
        self.program.send("POST", f"/requests/{self.request}/decision", {"verdict": "approve"})

    def in_slack(self) -> None:
        self.desk.person("auditor").send(self.click)
        self.clicked.set()

    def on_the_page(self) -> None:
        self.page.decide(self.request, verdict="approve")

    def seen_by_agent(self) -> dict[str, Any]:
        return mcp_outcome(self.desk.server, self.desk.agent.key, self.request)


@pytest.mark.parametrize("socket_mode", [False, True])
def test_all_answer_at_once_and_one_wins_everywhere(tmp_path, socket_mode):
    with scene(tmp_path, socket_mode=socket_mode) as desk:
        if socket_mode:
            desk.slack.until(lambda: desk.slack.socket.links, PATIENCE)
        page = desk.server.person("admin")
        program = Remote(desk.server, "approver", ("decide", "read"))
        winners = set()
        for number in range(ROUNDS):
            request, card = desk.ask(f"Refund {number}?")
            answers = Answers(desk, page, program, request, card, late=bool(number % 2))
            seen = at_once(answers.by_program, answers.in_slack, answers.on_the_page, answers.seen_by_agent)[3]
            desk.until_ended(card)
            winner = desk.agent.send("GET", f"/requests/{request}").body["decision"]["by"]
            winners.add(winner)
            assert (seen["status"], seen["by"]) == ("approved", winner)
            desk.slack.until(lambda card=card, winner=winner: f"Approved by {winner}" in card.words, PATIENCE)
        assert desk.decided() == ROUNDS
        # Everybody whose click came too late is told so, in the channel, alone.
        late = desk.server.value("SELECT count(*) FROM approvals_channelclick WHERE outcome = 'already_decided'")
        told = lambda: len([each for each in desk.ops.messages if each.seen_by])  # noqa: E731
        desk.slack.until(lambda: told() == late, PATIENCE)
        assert desk.person("auditor").warnings == []
        assert winners <= {"admin", "auditor", "API key remote of approver"}


def test_a_card_is_right_after_a_kill_between_the_decision_and_its_update(tmp_path):
    with scene(tmp_path) as desk:
        request, card = desk.ask("Refund order 4711?")
        desk.slack.will("chat.update", *[UNREACHED] * 1000)
        assert desk.person("auditor").click(card, "pausepoint.approve").failed == ""
        until(lambda: desk.status(request) == "approved", "the click decides")
        until(lambda: desk.slack.called("chat.update"), "an update is tried")
        desk.server.kill()
        assert "pausepoint.approve" in card.buttons
        desk.slack.faults.clear()
        desk.server.start()
        desk.until_ended(card)
        assert "Approved by auditor" in card.words
        assert desk.decided() == 1


def test_a_click_that_was_acknowledged_counts_after_a_kill(tmp_path):
    with scene(tmp_path) as desk:
        requests = [desk.ask(f"Refund {number}?") for number in range(3)]
        for _request, card in requests:
            assert desk.person("auditor").click(card, "pausepoint.approve").failed == ""
        desk.server.kill()
        desk.server.start()
        for request, card in requests:
            desk.until_ended(card)
            assert "Approved by auditor" in card.words
            assert desk.status(request) == "approved"


def test_a_card_whose_posting_got_no_answer_is_still_answered_and_updated(tmp_path):
    with scene(tmp_path) as desk:
        desk.slack.will("chat.postMessage", LOST)
        request, card = desk.ask("Refund order 4711?")
        assert desk.person("auditor").click(card, "pausepoint.approve").failed == ""
        desk.until_ended(card)
        assert "Approved by auditor" in card.words
        assert desk.status(request) == "approved"


def test_a_person_who_was_removed_between_the_card_and_the_click_decides_nothing(tmp_path):
    with scene(tmp_path) as desk:
        request, card = desk.ask("Refund order 4711?")
        desk.server.run(
            "from django.contrib.auth.models import User\nUser.objects.filter(username='auditor').update(is_active=False)",
        )
        assert desk.person("auditor").click(card, "pausepoint.approve").failed == ""
        until(lambda: desk.person("auditor").messages(desk.ops.id)[-1].seen_by, "a line for the person alone")
        assert desk.status(request) == "pending"
        assert desk.person("approver").click(card, "pausepoint.approve").failed == ""
        desk.until_ended(card)
        assert "Approved by approver" in card.words


def test_another_process_takes_the_connection_of_a_killed_one_over(tmp_path):
    with scene(tmp_path, socket_mode=True) as desk:
        slack = desk.slack
        slack.until(lambda: slack.socket.links, PATIENCE)
        request, card = desk.ask("Refund order 4711?")
        with Server(tmp_path, beside=desk.server, **desk.server.settings):
            desk.server.kill()
            slack.until(lambda: slack.socket.connected == 2 and slack.socket.links, PATIENCE)
            assert desk.person("auditor").click(card, "pausepoint.approve").failed == ""
            desk.until_ended(card)
            assert "Approved by auditor" in card.words
        # This one has given its lease back.
        assert desk.server.rows("SELECT socket_holder FROM approvals_channelconnection") != []
        desk.server.start()
        slack.until(lambda: slack.socket.connected == 3 and slack.socket.links, PATIENCE)
        assert desk.status(request) == "approved"
