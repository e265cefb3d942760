"""The part of a channel that is its own: how its messages look, and how they are posted, rewritten and answered.

The rest is shared: `posting` decides what is posted and rewritten when, `clicks` carries out the answers of people.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from approvals.channels.content import CardContent
from approvals.models import (
    ApprovalRequest,
    ChannelAccount,
    ChannelClick,
    ChannelConnection,
)


class ChannelError(Exception):
    """A channel refused a call, or could not be reached (`unreachable`); `code` is its word for it."""

    #: Codes that may pass by themselves, and those after which a message cannot be rewritten.
    PASSING: frozenset[str] = frozenset()
    GONE: frozenset[str] = frozenset()

    def __init__(self, code: str, retry_after: int = 0) -> None:
        self.code = code
        self.retry_after = retry_after
        super().__init__(code)

    @property
    def passes(self) -> bool:
        """Whether the same call could succeed later."""
        return self.code in self.PASSING

    @property
    def gone(self) -> bool:
        """Whether the message or its conversation cannot be written to any more."""
        return self.code in self.GONE

    @property
    def stops(self) -> bool:
        """Whether other calls would fail now, too."""
        return self.code in {"unreachable", "ratelimited"}


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message: `text` for notifications and screen readers, its body in the format of its channel, and its buttons."""

    text: str
    body: Any
    buttons: Sequence[str] = ()

    @property
    def look(self) -> str:
        """A value that changes with the message."""
        shown = json.dumps([self.text, self.body], sort_keys=True)
        return hashlib.sha256(shown.encode()).hexdigest()


class Messenger(Protocol):
    """One kind of channel. Its calls raise ChannelError."""

    def card(self, request: ApprovalRequest, content: CardContent) -> ChannelMessage:
        """Return the message of a card."""

    def digest(self, requests: Sequence[ApprovalRequest]) -> ChannelMessage:
        """Return one message about many waiting requests."""

    def test_card(self) -> ChannelMessage:
        """Return the card that shows that the connection works, and lets people link their accounts."""

    def line(self, text: str, /, link: str = "") -> ChannelMessage:
        """Return a line, with a button that opens the link to link an account."""

    def post(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message: ChannelMessage,
        thread: str = "",
    ) -> str:
        """Post a message, in the thread of another one if there is one, and return its id."""

    def rewrite(
        self,
        connection: ChannelConnection,
        channel_id: str,
        message_id: str,
        message: ChannelMessage,
    ) -> None:
        """Show something else on a posted message."""

    def conversation_with(
        self, connection: ChannelConnection, account: ChannelAccount
    ) -> str:
        """Return the id of the direct messages with a person."""

    def reply(self, click: ChannelClick, message: ChannelMessage) -> None:
        """Send a message that only the author of a click sees."""

    def name_of(self, click: ChannelClick) -> str:
        """Return the name that the channel shows for the author of a click; empty if it does not say."""
