"""The short-lived secrets that come with a click: `trigger_id` opens one modal, `response_url` takes five answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.slack.methods import Refused

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS = 1800.0
RESPONSE_USES = 5


@dataclass
class Trigger:
    user: str
    at: float
    used: bool = False


@dataclass
class Triggers:
    clock: Callable[[], float]
    seconds: float = TRIGGER_SECONDS
    given: dict[str, Trigger] = field(default_factory=dict)

    def give(self, user: str) -> str:
        name = f"{secrets.randbelow(10**12)}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}"
        self.given[name] = Trigger(user, self.clock())
        return name

    def exchange(self, name: str) -> str:
        """Return the person whose click the trigger belongs to; it is used up then."""
        trigger = self.given.get(name)
        if trigger is None:
            raise Refused("invalid_trigger_id")
        if trigger.used:
            raise Refused("exchanged_trigger_id")
        if self.clock() - trigger.at > self.seconds:
            raise Refused("expired_trigger_id")
        trigger.used = True
        return trigger.user


@dataclass
class ResponseAddress:
    user: str
    channel: str
    ts: str
    at: float
    uses: int = 0


@dataclass
class ResponseAddresses:
    clock: Callable[[], float]
    given: dict[str, ResponseAddress] = field(default_factory=dict)

    def give(self, user: str, channel: str, ts: str) -> str:
        """Return the path of a new address."""
        path = f"/actions/T0ACME/{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}"
        self.given[path] = ResponseAddress(user, channel, ts, self.clock())
        return path

    def use(self, path: str) -> ResponseAddress:
        address = self.given.get(path)
        if address is None:
            raise Refused("no_such_url")
        if self.clock() - address.at > RESPONSE_SECONDS:
            raise Refused("expired_url")
        if address.uses >= RESPONSE_USES:
            raise Refused("used_url")
        address.uses += 1
        return address
