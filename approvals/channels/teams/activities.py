"""Parse what Teams sends. Nothing in it is trusted but the ids of tenant and person, and the values that we made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.db.canonical_json import canonical
from approvals.json_types import JsonMapping
from approvals.models import ChannelConnection

CLICK = ("invoke", "adaptiveCard/action")
#: The buttons of no request.
FREE = frozenset({"link", "look"})
#: Ids of people and tenants are those of Entra.
_ENTRA_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_CONVERSATION = re.compile(r"(?:19|a):[\w.:@=-]{1,190}", re.ASCII)
_MESSAGE = re.compile(r"[!-~]{1,100}", re.ASCII)
_VERB = re.compile(r"pausepoint\.([a-z]+)", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
#: Characters of an input, and inputs of a card.
MAX_INPUT = 10_000
MAX_INPUTS = 100


class MalformedActivity(Exception):
    """It is not what Teams sends."""


class ForeignActivity(Exception):
    """It is for another bot, or from another tenant, than the connected ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardClick:
    """A click on a card, with the values of its inputs. `request_id` is None for a button of no request."""

    action: str
    team_id: str
    external_id: str
    name: str
    channel_id: str
    message_id: str
    request_id: UUID | None
    digest: str
    option: int
    entered: Mapping[str, str]
    key: str


def parse_click(activity: object, connection: ChannelConnection) -> CardClick | None:
    """Return the click in a verified activity; None if it is another one. Raise MalformedActivity or ForeignActivity."""
    whole = _object(activity)
    conversation = _object(whole.get("conversation"))
    _require_own(whole, conversation, connection)
    if (whole.get("type"), whole.get("name")) != CLICK:
        return None
    action = _object(_object(whole.get("value")).get("action"))
    match = _VERB.fullmatch(_text(action.get("verb")))
    if match is None:
        return None
    person = _object(whole.get("from"))
    data = _object(action.get("data", {}))
    place = _text(conversation.get("id")).partition(";")[0]
    option = data.get("option", 0)
    if type(option) is not int or not 0 <= option < 100:
        raise MalformedActivity
    own = person.get("tenantId")
    team_id = connection.team_id if own is None else _matching(_ENTRA_ID, own)
    external_id = _matching(_ENTRA_ID, person.get("aadObjectId"))
    name = person.get("name")
    identity = [team_id, external_id, place, whole.get("replyToId"), whole.get("id")]
    request_id = None if match[1] in FREE else _request(data)
    digest = _matching(_DIGEST, data.get("digest")) if request_id else ""
    return CardClick(
        action=match[1],
        team_id=team_id,
        external_id=external_id,
        name=name[:200] if isinstance(name, str) else "",
        channel_id=_matching(_CONVERSATION, place),
        message_id=_matching(_MESSAGE, whole.get("replyToId")),
        request_id=request_id,
        digest=digest,
        option=option,
        entered=_entered(data),
        key=hashlib.sha256(canonical([*identity, match[0], dict(data)])).hexdigest(),
    )


def _require_own(
    activity: JsonMapping, conversation: JsonMapping, connection: ChannelConnection
) -> None:
    channel = activity.get("channelData")
    tenant = channel.get("tenant") if isinstance(channel, Mapping) else None
    named = tenant.get("id") if isinstance(tenant, Mapping) else None
    recipient = activity.get("recipient")
    bot = recipient.get("id") if isinstance(recipient, Mapping) else None
    tenants = [conversation.get("tenantId"), named]
    sent = [tenant for tenant in tenants if tenant is not None]
    foreign = any(tenant != connection.team_id for tenant in sent)
    if foreign or not sent or bot != connection.bot_id:
        raise ForeignActivity


def _request(data: JsonMapping) -> UUID:
    """Return the id of the request that a button is about."""
    try:
        return UUID(_text(data.get("request")))
    except ValueError as error:
        raise MalformedActivity from error


def _entered(data: JsonMapping) -> dict[str, str]:
    """Return the texts of the inputs, by their names. Renderers send those of check boxes as texts too."""
    entered = {name: _text(value) for name, value in data.items() if "." in name}
    if len(entered) > MAX_INPUTS:
        raise MalformedActivity
    return entered


def _object(value: object) -> JsonMapping:
    if not isinstance(value, Mapping):
        raise MalformedActivity
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_INPUT:
        raise MalformedActivity
    return value


def _matching(pattern: re.Pattern[str], value: Any) -> str:
    text = _text(value)
    if not pattern.fullmatch(text):
        raise MalformedActivity
    return text
