"""Call a durable engine over the network: checked addresses, its credential or signature, and bounded responses."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cryptography.fernet import InvalidToken
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import http_post
from approvals.access.providers import decrypt_secret
from approvals.engines.calls import (
    MAX_RESPONSE,
    Conversation,
    EngineCall,
    EngineReading,
    EngineReply,
    Target,
    read_status,
)
from approvals.models import EngineConnection
from approvals.outbound.webhooks import USER_AGENT, signed_headers

#: A Temporal update and a handler of Restate answer once the workflow has handled them.
SECONDS = 20.0
#: In place of a credential.
HIDDEN = "•••"


class UnreadableSecret(Exception):
    """SECRET_KEY has changed since the credential was stored; the message says what to do."""


class ConversationLost(Exception):
    """A call got no response; `arrived`: the decision may have arrived, `reached`: the engine was connected to."""

    def __init__(self, reason: str, *, arrived: bool, reached: bool) -> None:
        super().__init__(reason)
        self.arrived = arrived
        self.reached = reached


@dataclass(frozen=True, slots=True)
class ConversationEnd:
    """The outcome of a delivery. `arrived`: the decision may have arrived, whatever the engine has answered."""

    reading: EngineReading
    arrived: bool


def target_of(connection: EngineConnection) -> Target:
    """Return an engine with its credential. Raise UnreadableSecret."""
    secret = ""
    if connection.secret:
        try:
            secret = decrypt_secret(connection.secret)
        except InvalidToken:
            words = _("the credential cannot be decrypted; enter it again")
            raise UnreadableSecret(words) from None
    return Target(url=connection.url, route=connection.route, secret=secret)


def send(call: EngineCall, target: Target, *, private: bool) -> EngineReply:
    """Send one call and return its response. Raise http_post.Undelivered."""
    headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
    headers |= call.headers
    if call.signed_as:
        signed = call.body.decode(), [target.secret]
        headers |= signed_headers(call.signed_as, *signed, at=timezone.now())
    response = http_post.exchange(
        call.method,
        call.url,
        call.body,
        headers,
        allow_private=private,
        seconds=SECONDS,
        max_bytes=MAX_RESPONSE,
    )
    body = response.body
    if target.secret:
        # An engine that repeats its credential in a message must not bring it into the record.
        body = body.replace(target.secret.encode(), HIDDEN.encode())
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    return EngineReply(response.status, document)


def converse(
    conversation: Conversation, target: Target, *, private: bool, arrived: bool
) -> ConversationEnd:
    """Have a conversation with an engine to its end. Raise ConversationLost.

    `arrived`: an earlier attempt may have arrived.
    """
    call = next(conversation)
    while True:
        try:
            reply = send(call, target, private=private)
        except http_post.Undelivered as error:
            lost = isinstance(error, http_post.ResponseLost)
            arrived = arrived or (lost and call.changes)
            raise ConversationLost(str(error), arrived=arrived, reached=lost) from error
        # What a client error refuses has not arrived; a gateway's error may come after it has.
        arrived = arrived or (call.changes and not 400 <= reply.status < 500)
        reading = read_status(reply)
        if reading is not None:
            return ConversationEnd(reading, arrived)
        try:
            call = conversation.send(reply)
        except StopIteration as end:
            return ConversationEnd(end.value, arrived)
