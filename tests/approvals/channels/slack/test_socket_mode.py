"""Socket Mode: one process holds the connection, and a click is acknowledged once it is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from approvals.actions.channels import sockets
from approvals.channels.slack import socket_mode, web_socket
from approvals.channels.slack.socket_mode import SocketHolder
from approvals.channels.slack.states import socket_state_of
from approvals.models import ApprovalRequest, ChannelClick, ChannelConnection
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, stored
from tests.support.desk.slack import card_in, carry, connected, linked, rule_for
from tests.support.markup import parse
from tests.support.people import alice, bob
from tests.support.processes.server import until
from tests.support.slack import Slack
from tests.support.slack.faults import fails, limited
from tests.support.slack.people import Person
from tests.support.slack.workspace import Message

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings, monkeypatch) -> Iterator[Slack]:
    # A second's patience shows the same as a minute's.
    monkeypatch.setattr(socket_mode, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(socket_mode, "LONGEST_WAIT", 0.1)
    with connected(settings) as slack:
        slack.socket.enabled = True
        slack.socket.ack_seconds = 2.0
        ChannelConnection.objects.update(socket_state="lost")
        yield slack
        socket_mode.stop_all(10)
        assert socket_mode._holders == {}


@contextmanager
def held(slack: Slack) -> Iterator[None]:
    """A process that holds the connection."""
    socket_mode.hold_connections()
    slack.until(lambda: slack.socket.links)
    try:
        yield
    finally:
        socket_mode.stop_all(10)


def a_card(slack: Slack) -> tuple[ApprovalRequest, Message, Person]:
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), input={"amount": 120})
    return request, card_in(slack, ops), person


def state() -> tuple[str, str]:
    connection = ChannelConnection.objects.get()
    return connection.socket_state, connection.socket_problem


def test_a_click_over_the_socket_decides_and_is_acknowledged_once_it_is_stored(slack):
    request, card, person = a_card(slack)
    slack.socket.pieces = 3
    with held(slack):
        assert person.click(card, "pausepoint.approve").failed == ""
        assert ChannelClick.objects.count() == 1
        carry()
        assert stored(request).status == "approved"
        until(lambda: state() == ("connected", ""), "a connection")
        assert socket_state_of(ChannelConnection.objects.get()) == "Slack brings clicks over Socket Mode."
    until(lambda: slack.socket.links == [], "the end of the connection")
    assert ChannelConnection.objects.get().socket_until is None


def test_a_click_whose_acknowledgement_got_lost_counts_once(slack):
    request, card, person = a_card(slack)
    slack.socket.ack_seconds = 0.3
    slack.socket.lose_acks = 1
    payload = person.click_payload(card, "pausepoint.approve")
    with held(slack):
        assert person.send(payload).failed == "not acknowledged within 3 s"
        assert person.send(payload).failed == ""
    carry()
    assert [ChannelClick.objects.count(), stored(request).status] == [1, "approved"]


def test_a_click_that_cannot_be_stored_is_not_acknowledged(slack, monkeypatch):
    _request, card, person = a_card(slack)
    slack.socket.ack_seconds = 0.3

    def fail(*_: object) -> None:
        raise OperationalError("the database is away")

    with held(slack):
        with monkeypatch.context() as patch:
            patch.setattr(socket_mode, "receive", fail)
            assert person.click(card, "pausepoint.approve").failed == "not acknowledged within 3 s"
        assert person.click(card, "pausepoint.approve").failed == ""


def test_the_end_of_the_app_comes_over_the_socket_too(slack):
    with held(slack):
        assert [answer.failed for answer in slack.send_event({"type": "app_uninstalled"}, repeats=1)] == ["", ""]
    assert ChannelConnection.objects.get().problem == "app_uninstalled"


def test_a_dialog_opens_and_its_errors_come_back_over_the_socket(slack):
    request, card, person = a_card(slack)
    with held(slack):
        person.click(card, "pausepoint.reject")
        slack.until(lambda: person.modal)
        person.modal.fill(reason="Too much").submit()
    carry()
    assert stored(request).decision.comment == "Too much"


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_a_new_connection_is_open_before_the_old_one_ends(slack, reason):
    _request, card, person = a_card(slack)
    with held(slack):
        slack.socket.disconnect(reason)
        slack.until(lambda: len(slack.socket.links) == 2)
        assert [person.click(card, "pausepoint.approve").failed for _ in range(2)] == ["", ""]
        slack.socket.links[0].close()
        slack.until(lambda: len(slack.socket.links) == 1)
        assert person.click(card, "pausepoint.approve").failed == ""


def test_a_lost_connection_is_opened_again(slack, monkeypatch):
    _request, card, person = a_card(slack)
    monkeypatch.setattr(web_socket, "PING_AFTER", 0.1)
    monkeypatch.setattr(web_socket, "LOST_AFTER", 0.5)
    with held(slack):
        slack.socket.links[0].kill()
        slack.until(lambda: slack.socket.connected == 2 and slack.socket.links)
        slack.socket.links[0].freeze()
        slack.until(lambda: slack.socket.connected == 3)
        slack.socket.links[0].end()
        assert person.click(card, "pausepoint.approve").failed == ""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("invalid_auth", "The app token no longer works. Create a new one in Slack, and connect again with it."),
        ("missing_scope", "The app token needs the scope connections:write."),
    ],
)
def test_a_refused_app_token_is_said_in_words(slack, code, words):
    slack.will("apps.connections.open", *[fails(code)] * 50)
    socket_mode.hold_connections()
    until(lambda: state() == ("refused", code), "a refusal")
    assert socket_state_of(ChannelConnection.objects.get()) == words
    socket_mode.stop_all(10)


def test_socket_mode_that_is_switched_off_in_slack_is_refused_and_comes_back(slack):
    with held(slack):
        slack.socket.disconnect("link_disabled")
        until(lambda: state()[0] == "refused", "a refusal")
        slack.socket.enabled = True
        until(lambda: state() == ("connected", ""), "a connection")


def test_a_busy_slack_is_given_the_time_that_it_asks_for(slack):
    slack.will("apps.connections.open", limited(1))
    socket_mode.hold_connections()
    slack.until(lambda: slack.socket.links)
    socket_mode.stop_all(10)
    assert slack.objections == []


def test_one_process_holds_the_connection_and_another_takes_over_when_its_lease_ends(slack):
    pk = ChannelConnection.objects.get().pk
    assert [sockets.hold(pk, "one"), sockets.hold(pk, "two"), sockets.hold(pk, "one")] == [True, False, True]
    socket_mode.hold_connections()
    assert slack.socket.links == []
    ChannelConnection.objects.update(socket_until=timezone.now() - timedelta(seconds=1))
    with held(slack):
        socket_mode.hold_connections()
        assert [sockets.hold(pk, "one"), slack.socket.connected] == [False, 1]


def test_a_process_that_lost_its_lease_closes_its_connection(slack, monkeypatch):
    monkeypatch.setattr(socket_mode, "RENEW_SECONDS", 0.1)
    pk = ChannelConnection.objects.get().pk
    holder = SocketHolder(pk)
    sockets.hold(pk, holder.name)
    holder.thread.start()
    slack.until(lambda: slack.socket.links)
    ChannelConnection.objects.update(socket_holder="another")
    slack.until(lambda: not slack.socket.links)
    holder.thread.join(5)
    assert ChannelConnection.objects.get().socket_holder == "another"


def test_nothing_is_held_without_an_app_token(slack):
    ChannelConnection.objects.update(socket_state="")
    socket_mode.hold_connections()
    assert [slack.socket.connected, sockets.hold(ChannelConnection.objects.get().pk, "one")] == [0, False]


def test_a_desk_behind_a_firewall_is_set_up_from_the_page_alone(slack):
    ChannelConnection.objects.all().delete()
    client = browser(administrator())
    slack.create_app(json.loads(parse(client.get("/settings/slack/").text).find("pre")[1].words))
    assert [slack.request_url, slack.socket.enabled] == ["", True]
    workspace = slack.workspace
    tokens = {"bot_token": workspace.bot_token, "app_token": workspace.app_token}
    client.post("/settings/slack/", {"app_id": workspace.app_id, "signing_secret": workspace.signing_secret, **tokens})
    assert state() == ("lost", "")
    with held(slack):
        until(lambda: state() == ("connected", ""), "a connection")
        page = client.get("/settings/slack/").text
        assert "Slack brings clicks over Socket Mode." in page
        assert workspace.app_token not in page
    # Without an app token, no process holds a connection any more.
    client.post(
        "/settings/slack/",
        {"app_id": workspace.app_id, "signing_secret": workspace.signing_secret, "bot_token": workspace.bot_token},
    )
    assert state() == ("", "")
