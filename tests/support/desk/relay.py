"""A relay in this process: it shows messages to linked people, and posts their answers to the desk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client
from jsonschema import Draft202012Validator
from standardwebhooks import Webhook

from approvals.actions.channels.relays import new_secret, sealed
from approvals.channels import duties
from approvals.channels.relay import contract, posting
from approvals.models import ChannelAccount, ChannelConnection, NotificationRule, Relay
from approvals.models.channels import Shows
from approvals.outbound import notifications
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.states import Route
from tests.support.receiver import Got, Receiver, answer

DESK = "https://desk.example.org"


class Chat(Receiver):
    """A relay on loopback, with what it shows: the newest version of each message, and the notices."""

    name = "mattermost"

    def __init__(self) -> None:
        super().__init__(lambda got: answer(self.status))
        self.status = 204
        self.secret = new_secret()
        self.shown: dict[str, dict[str, Any]] = {}
        self.ended: dict[str, dict[str, Any]] = {}
        self.notices: list[dict[str, Any]] = []
        #: Every version of a message.
        self.versions: list[dict[str, Any]] = []

    def take(self, got: Got) -> Any:
        behaviour = super().take(got)
        event = got.told(self.secret)
        Draft202012Validator(contract.EVENTS[event["type"]]).validate(event)
        if self.status < 300:
            data = event["data"]
            match event["type"]:
                case "request.show":
                    self.shown[data["message"]] = data
                    self.versions.append(data)
                case "request.end":
                    self.shown.pop(data["message"], None)
                    self.ended[data["message"]] = data
                case "notice":
                    self.notices.append(data)
        return behaviour

    def signed(self, body: bytes, secret: str = "", at: datetime | None = None) -> dict[str, str]:
        """Return the headers of a body."""
        at = at or datetime.now(UTC)
        signature = Webhook(secret or self.secret).sign("msg_1", at, body.decode())
        stamp = str(int(at.timestamp()))
        return {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}

    def send(self, what: str, body: Any) -> HttpResponse:
        """Post a signed body to the desk."""
        text = json.dumps(body).encode()
        address = f"/api/v1/relays/{self.name}/{what}"
        client = Client(raise_request_exception=False)
        return client.post(address, text, "application/json", headers=self.signed(text))

    def answer(self, message: dict[str, Any], verdict: str, /, **more: Any) -> HttpResponse:
        """Answer a message as its person does."""
        body = {"token": message["token"], "account": message["account"], "verdict": verdict} | more
        return self.send("answers", body)

    @property
    def message(self) -> dict[str, Any]:
        """The one waiting message."""
        [message] = self.shown.values()
        return message


@contextmanager
def connected(settings: Any, shows: str = Shows.INPUT, up_to: float | None = None) -> Iterator[Chat]:
    """Run a relay that is connected with this desk."""
    settings.PUBLIC_URL = DESK
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Chat() as chat:
        connection = ChannelConnection.objects.create(
            kind="relay", team_id=chat.name, team_name=chat.name, secret=sealed(chat.secret)
        )
        Relay.objects.create(connection=connection, address=chat.url(), shows=shows, up_to=up_to)
        yield chat


def linked(user: User, account: str = "") -> ChannelAccount:
    connection = ChannelConnection.objects.get(kind="relay")
    return ChannelAccount.objects.create(
        connection=connection,
        team_id=connection.team_id,
        external_id=account or f"id-{user.username}",
        name=user.username,
        user=user,
    )


def rule_for(who: User | Group, **more: Any) -> NotificationRule:
    audience = {"group": who} if isinstance(who, Group) else {"person": who}
    connection = ChannelConnection.objects.get(kind="relay")
    return NotificationRule.objects.create(**audience, route=Route.RELAY, relay=connection, **more)


def carry() -> None:
    """Post what is due to relays now."""
    notifications.spread_due_notices()
    duties.carry_out_clicks()
    lanes = DeliveryLanes(posting.due_jobs)
    for _ in range(2):
        lanes.deliver_due()
        assert lanes.idle(30)
