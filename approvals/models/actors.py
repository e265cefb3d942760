"""Actors: a user, with or without a browser session, or one of their API keys, which is recorded under its own name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import User

from approvals.models.keys import MAX_KEY_NAME, ApiKey
from approvals.text.text import visible

#: Prefixes of the recorded names of an API key, and of an issuer's tokens; usernames contain no spaces.
OF_KEYS = "API key "
OF_TOKENS = "Token "


class Signatory(Protocol):
    """Anyone on record, with an id and a name."""

    @property
    def pk(self) -> Any: ...

    def get_username(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _ActorOfUser:
    """An actor on behalf of a user, with the user's id."""

    user: User

    @property
    def pk(self) -> int:
        return self.user.pk


@dataclass(frozen=True, slots=True)
class TokenBearer:
    """Who sent an issuer's token: the agent, and the subject that it acts for; empty if it acts for itself."""

    agent: str
    on_behalf_of: str = ""


@dataclass(frozen=True, slots=True)
class KeyActor(_ActorOfUser):
    """A user acting through one of their API keys: the id and rights of the user, the name of the key."""

    key: ApiKey
    #: Expiry of the issuer's token, or of the client token created by the key, if the call came with one.
    until: datetime | None = None
    bearer: TokenBearer | None = None

    def get_username(self) -> str:
        """Return the recorded name, the same in every language."""
        name = visible(" ".join(self.key.name.split()))[:MAX_KEY_NAME]
        kind = OF_KEYS if self.key.issuer_id is None else OF_TOKENS
        return f"{kind}{name} of {self.user.get_username()}"


@dataclass(frozen=True, slots=True)
class SessionActor(_ActorOfUser):
    """A user acting in a browser: their actions end with the session, even while waiting."""

    session_key: str = field(repr=False)
    #: Expiry of the client token created by the session, if the call came with one.
    until: datetime | None = None

    def get_username(self) -> str:
        return self.user.get_username()


@dataclass(frozen=True, slots=True)
class ChannelActor(_ActorOfUser):
    """A user acting through their linked account in a channel such as Slack: their actions end with the link."""

    account_id: int
    #: The account as the audit log names it.
    account: str
    #: Links do not expire.
    until: datetime | None = None

    def get_username(self) -> str:
        return self.user.get_username()


@dataclass(frozen=True, slots=True)
class RecordedActor:
    """The recorded author of a past action."""

    pk: int
    name: str

    def get_username(self) -> str:
        return self.name


Actor = User | KeyActor | SessionActor | ChannelActor
#: The name recorded for a `KeyActor`.
_KEY_OF = re.compile(rf"(?:{OF_KEYS}|{OF_TOKENS})(?P<key>.*) of (?P<username>\S+)")


def key_and_username(recorded: str) -> tuple[str, str]:
    """Return the name of the API key in a recorded name (empty for a person without one), and the username."""
    match = _KEY_OF.fullmatch(recorded)
    return (match["key"], match["username"]) if match else ("", recorded)


def person_behind(actor: Actor) -> User:
    """Return the user whose rights apply."""
    return actor if isinstance(actor, User) else actor.user


def recorded_account(actor: Signatory | None) -> dict[str, str]:
    """Return the record's member with the account in a channel through which an actor acted; empty for others."""
    return {"account": actor.account} if isinstance(actor, ChannelActor) else {}
