"""People of the stand-in, who see cards and click them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.support.teams.cards import Json, buttons, words

if TYPE_CHECKING:
    from tests.support.teams.server import Message, Teams


class Person:
    """Someone of the tenant. Their answers to clicks are seen by them alone: cards in place of a message, or lines."""

    def __init__(self, teams: Teams, name: str) -> None:
        self.teams = teams
        self.name = name
        self.id = str(uuid4())
        self.lines: list[str] = []
        self.own: dict[str, Json] = {}

    def card(self, message: Message) -> Json:
        """Return what this person sees in the place of a message."""
        return self.own.get(message.id, message.card)

    def words(self, message: Message) -> str:
        return words(self.card(message))

    def activity(self, message: Message, title: str, **entered: str) -> Json:
        """Return the activity of a click on the button of this title, with what was entered beside it."""
        texts = {name.replace("_", "."): value for name, value in entered.items()}
        button = buttons(self.card(message))[title]
        action = {"type": "Action.Execute", "verb": button.action["verb"], "data": button.data(texts)}
        place = message.conversation
        conversation: Json = {"id": place.id, "tenantId": self.teams.tenant, "conversationType": place.kind}
        if place.kind == "channel":
            conversation |= {"id": f"{place.id};messageid={message.id}", "isGroup": True}
        return {
            "type": "invoke",
            "name": "adaptiveCard/action",
            "id": f"f:{uuid4()}",
            "timestamp": "2026-11-30T12:00:00.000Z",
            "channelId": "msteams",
            "serviceUrl": self.teams.service,
            "from": {"id": f"29:{self.id}", "name": self.name, "aadObjectId": self.id},
            "conversation": conversation,
            "recipient": {"id": self.teams.bot_id, "name": "Pausepoint"},
            "replyToId": message.id,
            "channelData": {"tenant": {"id": self.teams.tenant}},
            "value": {"action": action, "trigger": "manual"},
        }

    def click(self, message: Message, title: str, **entered: str) -> Json:
        """Click a button, see the answer, and return it."""
        return self.send(message, self.activity(message, title, **entered))

    def send(self, message: Message, activity: Json) -> Json:
        status, body = self.teams.deliver(activity)
        assert status == 200, (status, body)
        answer: Any = json.loads(body)
        if answer["type"] == "application/vnd.microsoft.card.adaptive":
            self.own[message.id] = answer["value"]
        else:
            assert answer["type"] == "application/vnd.microsoft.activity.message"
            self.lines.append(answer["value"])
        return dict(answer)
