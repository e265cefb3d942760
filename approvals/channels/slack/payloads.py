"""Parse what Slack sends. Nothing in it is trusted but the ids of team, app and person, and the values that we made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.db.canonical_json import NotCanonical, canonical, parse
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ChannelConnection

#: Ids of teams, apps, people and conversations.
_ID = re.compile(r"[A-Z0-9]{1,40}", re.ASCII)
_TS = re.compile(r"[0-9]{1,20}\.[0-9]{1,20}", re.ASCII)
_ACTION = re.compile(r"pausepoint\.([a-z]+)(?:\.[0-9]{1,3})?", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
CLICK = "block_actions"
SUBMISSION = "view_submission"


class MalformedPayload(Exception):
    """It is not what Slack sends."""


class ForeignPayload(Exception):
    """It is from another app, or another workspace, than the connected ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """A click, or a submitted dialog (`state` holds its inputs). `action` is empty if there is nothing to do."""

    action: str = ""
    team_id: str = ""
    external_id: str = ""
    channel_id: str = ""
    message_ts: str = ""
    trigger_id: str = ""
    request_id: UUID | None = None
    digest: str = ""
    option: int = 0
    state: JsonMapping | None = None
    #: Of the grant that the submitted dialog states.
    terms: JsonMapping | None = None
    key: str = ""

    @property
    def about(self) -> JsonDict:
        """The part that a dialog carries from its button to its submission."""
        return {
            "request": str(self.request_id),
            "digest": self.digest,
            "channel": self.channel_id,
            "ts": self.message_ts,
        }


def parse_interaction(payload: object, connection: ChannelConnection) -> Interaction:
    """Return the click or dialog in a verified payload. Raise MalformedPayload or ForeignPayload."""
    whole = _object(payload)
    kind = whole.get("type")
    if not isinstance(kind, str):
        raise MalformedPayload
    _require_own(whole, connection)
    if kind == CLICK:
        return _click(whole)
    return _submission(whole) if kind == SUBMISSION else Interaction()


def is_own(body: JsonMapping, connection: ChannelConnection) -> bool:
    """Return whether an event is about the connected app in its workspace."""
    sent = (body.get("api_app_id"), body.get("team_id"))
    return sent == (connection.app_id, connection.team_id)


def _require_own(payload: JsonMapping, connection: ChannelConnection) -> None:
    team = payload.get("team")
    team_id = team.get("id") if isinstance(team, Mapping) else None
    sent = (payload.get("api_app_id"), team_id)
    if sent != (connection.app_id, connection.team_id):
        raise ForeignPayload


def _click(payload: JsonMapping) -> Interaction:
    clicked = payload.get("actions")
    if not isinstance(clicked, list) or not clicked:
        raise MalformedPayload
    action = _object(clicked[0])
    match = _ACTION.fullmatch(_text(action.get("action_id")))
    if match is None or "value" not in action:
        # A button that only opens an address, or one of another version.
        return Interaction()
    container = _object(payload.get("container"))
    value = _value(action["value"])
    team_id, external_id = _person(payload)
    channel_id = _id(container.get("channel_id"))
    message_ts = _matching(_TS, container.get("message_ts"))
    trigger = payload.get("trigger_id")
    option = value.get("option", 0)
    if type(option) is not int or not 0 <= option < 100:
        raise MalformedPayload
    identity = [
        team_id, external_id, channel_id, message_ts, match[0],
        _text(action.get("action_ts")), value,
    ]  # fmt: skip
    return Interaction(
        action=match[1],
        team_id=team_id,
        external_id=external_id,
        channel_id=channel_id,
        message_ts=message_ts,
        trigger_id=trigger if isinstance(trigger, str) else "",
        option=option,
        key=_key(identity),
        **({} if match[1] == "link" else _subject(value)),
    )


def _submission(payload: JsonMapping) -> Interaction:
    view = _object(payload.get("view"))
    match = _ACTION.fullmatch(_text(view.get("callback_id")))
    if match is None:
        return Interaction()
    about = _value(view.get("private_metadata"))
    team_id, external_id = _person(payload)
    values = _object(_object(view.get("state")).get("values"))
    return Interaction(
        action=match[1],
        team_id=team_id,
        external_id=external_id,
        channel_id=_id(about.get("channel")),
        message_ts=_matching(_TS, about.get("ts")),
        state=values,
        terms=_object(about["terms"]) if "terms" in about else None,
        key=_key([team_id, external_id, _text(view.get("id")), about]),
        **_subject(about),
    )


def _person(payload: JsonMapping) -> tuple[str, str]:
    """Return the team and the id of the person. Guests of shared channels have a team of their own."""
    user = _object(payload.get("user"))
    team = _object(payload.get("team"))
    own = user.get("team_id")
    return _id(team["id"] if own is None else own), _id(user.get("id"))


def _subject(value: JsonMapping) -> dict[str, Any]:
    """Return the request and the digest that a button of ours is about."""
    try:
        request_id = UUID(_text(value.get("request")))
    except ValueError as error:
        raise MalformedPayload from error
    return {
        "request_id": request_id,
        "digest": _matching(_DIGEST, value.get("digest")),
    }


def _value(text: object) -> JsonMapping:
    try:
        return _object(parse(_text(text)))
    except NotCanonical as error:
        raise MalformedPayload from error


def _object(value: object) -> JsonMapping:
    if not isinstance(value, Mapping):
        raise MalformedPayload
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 10_000:
        raise MalformedPayload
    return value


def _matching(pattern: re.Pattern[str], value: object) -> str:
    text = _text(value)
    if not pattern.fullmatch(text):
        raise MalformedPayload
    return text


def _id(value: object) -> str:
    return _matching(_ID, value)


def _key(identity: list[Any]) -> str:
    return hashlib.sha256(canonical(identity)).hexdigest()
