"""Socket Mode of the stand-in, with the client of slack_sdk at the other end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from tests.support.processes.server import until
from tests.support.slack import Slack

BLOCKS = [
    {
        "type": "actions",
        "block_id": "pausepoint",
        "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Approve"}, "action_id": "approve"}],
    },
]


class App:
    """An app that acknowledges what it gets, unless it is told to be silent."""

    def __init__(self, slack: Slack) -> None:
        web = WebClient(base_url=slack.api, retry_handlers=[])
        self.client = SocketModeClient(slack.workspace.app_token, web_client=web, ping_interval=0.2)
        self.client.socket_mode_request_listeners.append(self.take)
        self.got: list[SocketModeRequest] = []
        self.payload: Any = None
        self.silent = threading.Event()

    def take(self, client: Any, request: SocketModeRequest) -> None:
        self.got.append(request)
        if not self.silent.is_set():
            client.send_socket_mode_response(SocketModeResponse(request.envelope_id, self.payload))


@pytest.fixture
def slack() -> Iterator[Slack]:
    with Slack() as slack:
        slack.socket.enabled = True
        slack.socket.ack_seconds = 30.0
        slack.socket.ping_seconds = 0.1
        yield slack


@pytest.fixture
def app(slack: Slack) -> Iterator[App]:
    app = App(slack)
    app.client.connect()
    slack.until(lambda: slack.socket.links)
    yield app
    # Its thread holds a lock while it reads, for three seconds unless the server ends the connection.
    app.client.auto_reconnect_enabled = False
    app.client.default_auto_reconnect_enabled = False
    slack.socket.close()
    app.client.close()


def card_for(slack: Slack) -> Any:
    bob = slack.person("bob")
    ops = slack.channel("ops", bob)
    web = WebClient(slack.workspace.bot_token, base_url=slack.api, retry_handlers=[])
    web.chat_postMessage(channel=ops.id, text="Refund?", blocks=BLOCKS)
    return ops.messages[0]


def test_a_click_goes_over_the_socket_and_is_acknowledged(slack: Slack, app: App) -> None:
    card = card_for(slack)
    bob = slack.person("bob")
    assert bob.click(card, "approve").failed == ""
    assert [app.got[0].type, app.got[0].payload["actions"][0]["action_id"]] == ["interactive", "approve"]
    slack.socket.ack_seconds = 0.3
    app.silent.set()
    assert bob.click(card, "approve").failed == "not acknowledged within 3 s"
    until(lambda: len(app.got) == 2, "the second click")


def test_an_event_comes_again_when_its_acknowledgement_got_lost(slack: Slack, app: App) -> None:
    slack.socket.ack_seconds = 1.5
    slack.socket.lose_acks = 1
    answers = slack.send_event({"type": "app_uninstalled"})
    assert [answer.failed for answer in answers] == ["not acknowledged within 3 s", ""]
    assert [each.retry_attempt for each in app.got] == [0, 1]
    assert len({each.payload["event_id"] for each in app.got}) == 1
    assert len({each.envelope_id for each in app.got}) == 2


def test_a_connection_is_refreshed_and_a_ticket_is_good_once(slack: Slack, app: App) -> None:
    slack.socket.disconnect("warning")
    slack.until(lambda: slack.socket.connected == 2 and len(slack.socket.links) == 1)
    assert slack.person("bob").click(card_for(slack), "approve").failed == ""
    slack.socket.links[0].kill()
    slack.until(lambda: slack.socket.connected == 3)


def test_socket_mode_that_is_turned_off_gives_no_address(slack: Slack) -> None:
    web = WebClient(base_url=slack.api)
    slack.socket.enabled = False
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        web.apps_connections_open(app_token=slack.workspace.app_token)
    slack.socket.enabled = True
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        web.apps_connections_open(app_token=slack.workspace.bot_token)


def test_an_acknowledgement_of_nothing_is_an_objection(slack: Slack, app: App) -> None:
    app.client.send_message("hello")
    app.client.send_socket_mode_response(SocketModeResponse("no-such-envelope"))
    slack.until(lambda: len(slack.objections) == 2)
    assert slack.take_objections() == [
        "neither JSON nor an acknowledgement: b'hello'",
        "an acknowledgement of an unknown envelope: no-such-envelope",
    ]
