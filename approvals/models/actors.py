"""Who acts: a user, in a browser or by themselves, or one of their API keys, which is recorded under a name of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import User

from approvals.models.keys import MAX_KEY_NAME, ApiKey
from approvals.text.text import visible

#: How the name begins that is recorded for an API key; no username has a space.
OF_KEYS = "API key "


class Signatory(Protocol):
    """Anyone who can be recorded, by an id and a name."""

    @property
    def pk(self) -> Any: ...

    def get_username(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _ActorOfUser:
    """What acts for a user has the id of the user."""

    user: User

    @property
    def pk(self) -> int:
        return self.user.pk


@dataclass(frozen=True, slots=True)
class KeyActor(_ActorOfUser):
    """A user who acts through one of their API keys: the id and the rights of the user, the name of the key."""

    key: ApiKey
    #: When the client token ends that the key has made, if the call came with one.
    until: datetime | None = None

    def get_username(self) -> str:
        """Return the name that is recorded, the same in every language."""
        name = visible(" ".join(self.key.name.split()))[:MAX_KEY_NAME]
        return f"{OF_KEYS}{name} of {self.user.get_username()}"


@dataclass(frozen=True, slots=True)
class SessionActor(_ActorOfUser):
    """A user who acts in a browser: what they do ends with their session, also while it waits."""

    session_key: str = field(repr=False)
    #: When the client token ends that the session has made, if the call came with one.
    until: datetime | None = None

    def get_username(self) -> str:
        return self.user.get_username()


@dataclass(frozen=True, slots=True)
class RecordedActor:
    """Someone who has acted, as recorded then."""

    pk: int
    name: str

    def get_username(self) -> str:
        return self.name


Actor = User | KeyActor | SessionActor
#: What `KeyActor` records.
_KEY_OF = re.compile(OF_KEYS + r"(?P<key>.*) of (?P<username>\S+)")


def key_and_username(recorded: str) -> tuple[str, str]:
    """Return the name of the API key in a recorded name, empty for a person without one, and the username."""
    match = _KEY_OF.fullmatch(recorded)
    return (match["key"], match["username"]) if match else ("", recorded)


def person_behind(actor: Actor) -> User:
    """Return the user whose rights count."""
    return actor.user if isinstance(actor, KeyActor | SessionActor) else actor
