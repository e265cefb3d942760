"""Parse what Slack sends. Nothing in it is trusted but the ids of team, app and person, and the values that we made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.actions.channels.clicks import NewClick
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
    """A click, or a submitted dialog: `state` holds its inputs, and `terms` those of the grant that it states."""

    click: NewClick
    trigger_id: str = ""
    state: JsonMapping | None = None
    terms: JsonMapping | None = None

    @property
    def action(self) -> str:
        return str(self.click.data["action"])

    @property
    def about(self) -> JsonDict:
        """The part that a dialog carries from its button to its submission."""
        return {
            "request": self.click.data["request"],
            "digest": self.click.data["digest"],
            "channel": self.click.channel_id,
            "ts": self.click.message_ts,
        }


def parse_interaction(
    payload: object, connection: ChannelConnection
) -> Interaction | None:
    """Return the click or dialog in a verified payload; None if nothing follows. Raise MalformedPayload or ForeignPayload."""
    whole = _object(payload)
    kind = whole.get("type")
    if not isinstance(kind, str):
        raise MalformedPayload
    team = whole.get("team")
    team_id = team.get("id") if isinstance(team, Mapping) else None
    if not is_own(whole, team_id, connection):
        raise ForeignPayload
    if kind == CLICK:
        return _click(whole)
    return _submission(whole) if kind == SUBMISSION else None


def is_own(body: JsonMapping, team_id: object, connection: ChannelConnection) -> bool:
    """Return whether this is about the connected app in its workspace."""
    sent = (body.get("api_app_id"), team_id)
    return sent == (connection.app_id, connection.team_id)


def _click(payload: JsonMapping) -> Interaction | None:
    clicked = payload.get("actions")
    if not isinstance(clicked, list) or not clicked:
        raise MalformedPayload
    action = _object(clicked[0])
    match = _ACTION.fullmatch(_text(action.get("action_id")))
    if match is None or "value" not in action:
        # A button that only opens an address, or one of another version.
        return None
    container = _object(payload.get("container"))
    value = _value(action["value"])
    place = (container.get("channel_id"), container.get("message_ts"))
    subject = {} if match[1] == "link" else _subject(value)
    option = value.get("option", 0)
    if type(option) is not int or not 0 <= option < 100:
        raise MalformedPayload
    if match[1] == "option":
        subject["option"] = option
    identity = [*place, match[0], _text(action.get("action_ts")), value]
    trigger = payload.get("trigger_id")
    return Interaction(
        click=_new_click(payload, place, {"action": match[1], **subject}, identity),
        trigger_id=trigger if isinstance(trigger, str) else "",
    )


def _submission(payload: JsonMapping) -> Interaction | None:
    view = _object(payload.get("view"))
    match = _ACTION.fullmatch(_text(view.get("callback_id")))
    if match is None:
        return None
    about = _value(view.get("private_metadata"))
    place = (about.get("channel"), about.get("ts"))
    data = {"action": match[1], **_subject(about)}
    return Interaction(
        click=_new_click(payload, place, data, [_text(view.get("id")), about]),
        state=_object(_object(view.get("state")).get("values")),
        terms=_object(about["terms"]) if "terms" in about else None,
    )


def _new_click(
    payload: JsonMapping,
    place: tuple[object, object],
    data: JsonDict,
    identity: list[Any],
) -> NewClick:
    """Return the click to store. Guests of shared channels have a team of their own."""
    user = _object(payload.get("user"))
    own = user.get("team_id")
    team_id = _id(_object(payload.get("team"))["id"] if own is None else own)
    external_id = _id(user.get("id"))
    channel_id, message_ts = place
    return NewClick(
        key=hashlib.sha256(canonical([team_id, external_id, *identity])).hexdigest(),
        team_id=team_id,
        external_id=external_id,
        channel_id=_id(channel_id),
        message_ts=_matching(_TS, message_ts),
        data=data,
    )


def _subject(value: JsonMapping) -> JsonDict:
    """Return the request and the digest that a button of ours is about."""
    try:
        request_id = UUID(_text(value.get("request")))
    except ValueError as error:
        raise MalformedPayload from error
    return {
        "request": str(request_id),
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
