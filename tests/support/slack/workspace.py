"""What the stand-in of Slack keeps: a workspace with one app, its people, channels, messages and modals."""

from __future__ import annotations

import copy
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Block = dict[str, Any]

BOT_SCOPES = (
    "chat:write",
    "channels:read",
    "groups:read",
    "im:read",
    "im:write",
    "users:read",
)
PREFIXES = {"public": "C", "private": "G", "im": "D"}


@dataclass
class Member:
    id: str
    name: str
    real_name: str
    team_id: str
    email: str = ""
    deleted: bool = False
    is_bot: bool = False

    def as_json(self, *, with_email: bool) -> Json:
        profile = {"real_name": self.real_name, "display_name": self.name}
        if with_email:
            profile["email"] = self.email
        return {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "is_bot": self.is_bot,
            "is_app_user": False,
            "is_restricted": False,
            "is_ultra_restricted": False,
            "profile": profile,
        }


@dataclass
class Message:
    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Block]
    thread_ts: str = ""
    #: The one person who sees it, if it is ephemeral.
    seen_by: str = ""
    metadata: Json | None = None
    deleted: bool = False
    #: Earlier contents, the oldest first.
    earlier: list[tuple[str, list[Block]]] = field(default_factory=list)

    def replace(self, text: str, blocks: list[Block]) -> None:
        self.earlier.append((self.text, self.blocks))
        self.text = text
        self.blocks = blocks

    def as_json(self, app_id: str, bot_id: str, team_id: str) -> Json:
        message: Json = {
            "type": "message",
            "user": self.user,
            "ts": self.ts,
            "bot_id": bot_id,
            "app_id": app_id,
            "team": team_id,
            "text": self.text,
            "blocks": copy.deepcopy(self.blocks),
        }
        if self.thread_ts:
            message["thread_ts"] = self.thread_ts
        if self.earlier:
            message["edited"] = {"user": self.user, "ts": self.ts}
        return message

    @property
    def buttons(self) -> dict[str, Json]:
        """The interactive elements by their `action_id`."""
        elements = (each for block in self.blocks for each in block_elements(block))
        return {each["action_id"]: each for each in elements if "action_id" in each}

    @property
    def words(self) -> str:
        """Everything that a person reads in it, line by line."""
        return "\n".join(block_words(self.blocks)) if self.blocks else self.text


@dataclass
class Channel:
    id: str
    name: str
    kind: str = "public"
    archived: bool = False
    members: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    #: Shared with another workspace (Slack Connect).
    shared: bool = False

    def as_json(self) -> Json:
        known: Json = {"id": self.id, "created": 1_700_000_000, "is_archived": self.archived}
        if self.kind == "im":
            return known | {"is_im": True, "user": self.members[0], "is_open": True}
        return known | {
            "name": self.name,
            "is_channel": self.kind == "public",
            "is_group": self.kind == "private",
            "is_private": self.kind == "private",
            "is_im": False,
            "is_mpim": False,
            "is_ext_shared": self.shared,
            "is_shared": self.shared,
            "num_members": len(self.members),
        }


@dataclass
class View:
    """A modal on the screen of one person."""

    id: str
    user: str
    content: Json
    root: str
    previous: str = ""
    hash: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    closed: bool = False


def block_elements(block: Block) -> list[Json]:
    if block["type"] == "actions":
        return list(block["elements"])
    return [block[name] for name in ("element", "accessory") if isinstance(block.get(name), dict)]


def block_words(value: Any) -> list[str]:
    """Return the texts of blocks in the order in which they are read."""
    if isinstance(value, list):
        return [line for each in value for line in block_words(each)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("text"), str):
        return [value["text"]]
    shown = ("text", "fields", "accessory", "label", "hint", "element", "elements", "options")
    return [line for name in shown for line in block_words(value.get(name))]


@dataclass
class Workspace:
    team_id: str = "T0ACME"
    team_name: str = "Acme"
    app_id: str = "A0DESK"
    bot_id: str = "B0DESK"
    bot_user: str = "U0DESK"
    bot_token: str = "xoxb-1-only-for-tests"
    app_token: str = "xapp-1-only-for-tests"
    signing_secret: str = "8f742231b10e8888abcd99yyyzzz85a5"
    scopes: tuple[str, ...] = BOT_SCOPES
    enterprise_id: str = ""
    #: The error of every call from now on: `token_revoked`, `account_inactive`.
    refusal: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    views: dict[str, View] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))
    counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.members[self.bot_user] = Member(self.bot_user, "pausepoint", "Pausepoint", self.team_id, is_bot=True)

    def next_id(self, prefix: str) -> str:
        return f"{prefix}{next(self.counter):08X}"

    def next_ts(self) -> str:
        """Return a time that is also the name of a message, so each is given once."""
        return f"{int(self.clock())}.{next(self.counter):06d}"

    def add_member(self, name: str, *, team_id: str = "", email: str = "") -> Member:
        member = Member(self.next_id("U"), name, name.title(), team_id or self.team_id, email or f"{name}@example.org")
        self.members[member.id] = member
        return member

    def add_channel(self, name: str, *people: str, kind: str = "public", with_bot: bool = True) -> Channel:
        members = [*people, self.bot_user] if with_bot else list(people)
        channel = Channel(self.next_id(PREFIXES[kind]), name, kind, members=members)
        self.channels[channel.id] = channel
        return channel

    def direct_channel(self, user: str) -> Channel:
        for channel in self.channels.values():
            if channel.kind == "im" and channel.members[0] == user:
                return channel
        return self.add_channel(self.members[user].name, user, kind="im")

    def post(self, message: Message) -> Message:
        with self.changed:
            self.channels[message.channel].messages.append(message)
            self.changed.notify_all()
        return message

    def message(self, channel: str, ts: str) -> Message | None:
        messages = self.channels[channel].messages if channel in self.channels else []
        return next((each for each in messages if each.ts == ts and not each.deleted), None)

    def named_blocks(self, blocks: list[Block]) -> list[Block]:
        """Return the blocks as Slack stores them: with an id each, and one for each of their elements."""
        blocks = copy.deepcopy(blocks)
        for block in blocks:
            block.setdefault("block_id", self.next_id("b"))
            for element in block_elements(block):
                if element["type"] != "image":
                    element.setdefault("action_id", self.next_id("a"))
        return blocks
