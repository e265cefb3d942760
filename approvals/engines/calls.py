"""The values of a call to a durable engine, and the meaning of a response that all engines share."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar
from urllib.parse import quote

from django.utils.translation import gettext as _

from approvals.json_types import JsonMapping
from approvals.text.text import visible

#: The longest response that is read.
MAX_RESPONSE = 65_536
#: The longest part of an engine's own message that is kept.
MAX_MESSAGE = 300
#: Ids and routes that stay one part of a path each; the first character is none of a relative path.
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.~:@=+-]{0,199}")
ROUTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class DeliveryResult(StrEnum):
    """What became of a decision: the engine has it, or will never take it; or an answer that is still open.

    LATER and EARLY are tried again: the engine could not answer, or does not wait yet. UNKNOWN: it may have arrived, and people
    have to find out.
    """

    TAKEN = "taken"
    NOT_TAKEN = "not_taken"
    UNKNOWN = "unknown"
    LATER = "later"
    EARLY = "early"


@dataclass(frozen=True, slots=True)
class EngineReading:
    """The meaning of a response; `note` is the reason for people."""

    result: DeliveryResult
    note: str = ""


TAKEN = EngineReading(DeliveryResult.TAKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An engine as an administrator has set it up; `route` is the address within it, if its kind has one."""

    url: str
    route: str = ""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCall:
    """One HTTP request to an engine. `changes`: it may change the engine's state, and not only read it.

    `signed_as` is the message id under which it is signed as a Standard Webhook; the secret is then not sent.
    """

    method: str
    url: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    changes: bool = True
    signed_as: str = ""


@dataclass(frozen=True, slots=True)
class EngineReply:
    """A response of an engine; `document` is its JSON, or None if it has none."""

    status: int
    document: Any = None


#: A conversation with an engine: it yields calls, is sent their responses, and returns what became of the decision.
Conversation = Generator[EngineCall, EngineReply, EngineReading]


class Engine(ABC):
    """A kind of engine. Its ids and routes are checked before they become part of an address."""

    #: The form of an id that waits, and an example of one.
    id_pattern: ClassVar[re.Pattern[str]]
    id_example: ClassVar[str]
    #: The form of a route; None if it has none.
    route_pattern: ClassVar[re.Pattern[str] | None] = None

    @abstractmethod
    def answer(
        self, target: Target, waiting_id: str, decision: JsonMapping
    ) -> EngineCall:
        """Return the call that takes a decision to the engine, the same at every attempt."""

    @abstractmethod
    def deliver(
        self, target: Target, waiting_id: str, decision: JsonMapping, *, repeated: bool
    ) -> Conversation:
        """Take a decision to the engine so that it counts at most once. `repeated`: an earlier attempt may have arrived.

        It reads responses with 2xx, 404 or 409; `read_status` has the meaning of the others.
        """

    @abstractmethod
    def probe(self, target: Target) -> EngineCall:
        """Return a call that changes nothing and succeeds if address and credentials are right."""


def read_status(reply: EngineReply) -> EngineReading | None:
    """Return the meaning of a status that is the same for all engines; None for 2xx, 404 and 409, which each one reads."""
    status = reply.status
    if 200 <= status < 300 or status in {404, 409}:
        return None
    if 300 <= status < 400:
        words = _("answered %(status)s; redirects are not followed")
        return EngineReading(DeliveryResult.LATER, words % {"status": status})
    if status in {401, 403}:
        words = _("refused the credentials (%(status)s)")
        return EngineReading(DeliveryResult.LATER, words % {"status": status})
    answered = _("answered %(status)s") % {"status": status}
    if status in {408, 425, 429} or status >= 500:
        return EngineReading(DeliveryResult.LATER, answered)
    return EngineReading(DeliveryResult.NOT_TAKEN, message_of(reply) or answered)


def message_of(reply: EngineReply) -> str:
    """Return the engine's own message in a JSON response, made visible; empty if there is none."""
    document = reply.document
    text = ""
    if isinstance(document, dict):
        names = ("message", "error", "detail", "reason")
        texts = (document.get(name) for name in names)
        text = next((text for text in texts if isinstance(text, str) and text), "")
    return visible(text)[:MAX_MESSAGE]


def not_json() -> EngineReading:
    """Return the meaning of a success without the expected JSON, such as the log-in page of a proxy."""
    return EngineReading(
        DeliveryResult.LATER,
        _("answered without the JSON of this engine; check its address"),
    )


def read_refusal(reply: EngineReply, words: str) -> EngineReading:
    """Return that a decision was not taken, with the engine's message, or else these words."""
    return EngineReading(DeliveryResult.NOT_TAKEN, message_of(reply) or words)


def post(
    url: str, document: JsonMapping, *, secret: str = "", **headers: str
) -> EngineCall:
    """Return a POST of JSON, with a bearer token if there is a secret."""
    return EngineCall(
        method="POST",
        url=url,
        body=as_json(document).encode(),
        headers=_bearer(secret) | {"Content-Type": "application/json"} | headers,
    )


def get(url: str, *, secret: str = "") -> EngineCall:
    """Return a GET, with a bearer token if there is a secret."""
    return EngineCall(method="GET", url=url, headers=_bearer(secret), changes=False)


def as_json(document: JsonMapping) -> str:
    return json.dumps(dict(document), ensure_ascii=False, separators=(",", ":"))


def _bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def joined(url: str, *parts: str) -> str:
    """Return an address below another one; the parts are quoted."""
    path = "/".join(quote(part, safe="") for part in parts)
    return f"{url.rstrip('/')}/{path}"
