"""Teams as a messenger: activities with cards, in channels and in personal chats."""

from __future__ import annotations

from approvals.channels.messenger import ChannelMessage, Messenger
from approvals.channels.teams import cards
from approvals.channels.teams.connector import call, in_path
from approvals.json_types import JsonDict
from approvals.models import ChannelAccount, ChannelClick, ChannelConnection

CARD_TYPE = "application/vnd.microsoft.card.adaptive"
#: The ends of the ids of channels, whose messages have threads.
THREADED = ("@thread.tacv2", "@thread.skype")


class TeamsMessenger(Messenger):
    """Adaptive Cards, over the Bot Connector."""

    card = staticmethod(cards.card)
    digest = staticmethod(cards.digest)
    test_card = staticmethod(cards.test_card)
    line = staticmethod(cards.line)

    def post(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message: ChannelMessage,
        thread: str = "",
    ) -> str:
        """Post a message, and return the id of its activity."""
        threaded = thread and channel_id.endswith(THREADED)
        place = f"{channel_id};messageid={thread}" if threaded else channel_id
        path = f"/{in_path(place)}/activities"
        answer = call(connection, "POST", path, _activity(message), channel_id)
        return str(answer.get("id", ""))

    def rewrite(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message_id: str,
        message: ChannelMessage,
    ) -> None:
        path = f"/{in_path(channel_id)}/activities/{in_path(message_id)}"
        call(connection, "PUT", path, _activity(message), channel_id)

    def conversation_with(
        self, connection: ChannelConnection, account: ChannelAccount
    ) -> str:
        return _personal(connection, account.external_id)

    def reply(self, click: ChannelClick, message: ChannelMessage) -> None:
        """Write to the personal chat: the answer to the click itself, which only its author sees, is over."""
        self.post(
            click.connection, _personal(click.connection, click.external_id), message
        )

    def name_of(self, click: ChannelClick) -> str:
        return str(click.data.get("name", ""))


def _activity(message: ChannelMessage) -> JsonDict:
    return {
        "type": "message",
        "summary": message.text,
        "attachments": [{"contentType": CARD_TYPE, "content": message.body}],
    }


def _personal(connection: ChannelConnection, external_id: str) -> str:
    """Return the id of the personal chat with a person, which is made if there is none."""
    body = {
        "bot": {"id": connection.bot_id},
        "members": [{"id": external_id}],
        "tenantId": connection.team_id,
        "channelData": {"tenant": {"id": connection.team_id}},
        "isGroup": False,
    }
    return str(call(connection, "POST", "", body).get("id", ""))
