"""Slack as a messenger: its calls with the bot's token."""

from __future__ import annotations

from typing import Any

from django.db import connections

from approvals.actions.channels.connections import note_problem, secrets_of
from approvals.channels.messenger import ChannelMessage, Messenger
from approvals.channels.slack import blocks, web_api
from approvals.channels.slack.web_api import SlackError
from approvals.json_types import JsonDict
from approvals.models import ChannelAccount, ChannelClick, ChannelConnection


class SlackMessenger(Messenger):
    """Cards as blocks, over the Web API."""

    card = staticmethod(blocks.card)
    digest = staticmethod(blocks.digest)
    test_card = staticmethod(blocks.test_card)
    line = staticmethod(blocks.line)

    def post(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message: ChannelMessage,
        thread: str = "",
    ) -> str:
        """Post a message, and return its timestamp, which identifies it."""
        body = _call(
            connection,
            "chat.postMessage",
            about=channel_id,
            channel=channel_id,
            text=message.text,
            blocks=message.body,
            unfurl_links=False,
            unfurl_media=False,
            **({"thread_ts": thread} if thread else {}),
        )
        return str(body.get("ts", ""))

    def rewrite(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message_id: str,
        message: ChannelMessage,
    ) -> None:
        _call(
            connection,
            "chat.update",
            about=channel_id,
            channel=channel_id,
            ts=message_id,
            text=message.text,
            blocks=message.body,
        )

    def conversation_with(
        self, connection: ChannelConnection, account: ChannelAccount
    ) -> str:
        body = _call(connection, "conversations.open", users=account.external_id)
        channel = body.get("channel")
        return str(channel.get("id", "")) if isinstance(channel, dict) else ""

    def reply(self, click: ChannelClick, message: ChannelMessage) -> None:
        _call(
            click.connection,
            "chat.postEphemeral",
            about=click.channel_id,
            channel=click.channel_id,
            user=click.external_id,
            text=message.text,
            blocks=message.body,
        )

    def name_of(self, click: ChannelClick) -> str:
        try:
            body = _call(click.connection, "users.info", user=click.external_id)
        except SlackError:
            return ""
        user = body.get("user")
        profile = user.get("profile") if isinstance(user, dict) else None
        names = profile if isinstance(profile, dict) else {}
        shown = [names.get(name) for name in ("display_name", "real_name")]
        return next((name for name in shown if isinstance(name, str) and name), "")


def _call(
    connection: ChannelConnection, method: str, about: str = "", **arguments: Any
) -> JsonDict:
    """Call a method with the bot's token, and note the state of the connection. Raise SlackError."""
    secrets = secrets_of(connection)
    if secrets is None:
        note_problem(connection, "secret_key_changed")
        raise SlackError("secret_key_changed")
    connections.close_all()  # No database connection is held during the network call.
    try:
        body = web_api.call(secrets.bot_token, method, **arguments)
    except SlackError as error:
        note_problem(connection, error.code, about)
        raise
    note_problem(connection, "", about)
    return body
