"""JSON Schema of a written policy; `policies` checks the rest."""

from __future__ import annotations

from typing import Any

from approvals.json_types import JsonDict
from approvals.models.people import RoleName
from approvals.policy.asks import AtDeadline
from approvals.policy.conditions.expressions import MAX_LENGTH
from approvals.policy.rules import MAX_MESSAGE, MAX_NAME, MAX_RULES, REPEAT_DAYS, Then
from approvals.policy.terms import MessageRule
from approvals.states import Priority

#: Maximum deadline, reminder or escalation step, in seconds: a year.
MAX_SECONDS = 366 * 24 * 3600
CHANNELS = ("mail", "slack", "push")


def _object(required: tuple[str, ...] = (), **properties: Any) -> JsonDict:
    shape: JsonDict = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        shape["required"] = list(required)
    return shape


def _list(items: JsonDict, most: int, description: str = "", **more: Any) -> JsonDict:
    shape = {"type": "array", "items": items, "minItems": 1, "maxItems": most, **more}
    return shape | ({"description": description} if description else {})


def _text(most: int, description: str) -> JsonDict:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": most,
        "description": description,
    }


def _flag(description: str) -> JsonDict:
    return {"type": "boolean", "description": description}


def _seconds(description: str) -> JsonDict:
    return {
        "type": "integer",
        "minimum": 60,
        "maximum": MAX_SECONDS,
        "description": description,
    }


def _one_of(names: Any, description: str) -> JsonDict:
    return {"enum": [str(name) for name in names], "description": description}


_NAMES = _list(
    {"type": "string", "minLength": 1, "maxLength": 150}, 100, uniqueItems=True
)
_PEOPLE: JsonDict = {
    "people": _NAMES | {"description": "Usernames."},
    "teams": _NAMES | {"description": "Names of teams."},
    "roles": _list(
        {"enum": [str(name) for name in RoleName.values]}, 4, "Roles.", uniqueItems=True
    ),
}
_GROUP = _object(
    **_PEOPLE,
    votes={
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "description": "How many of them have to approve; 1 if left out.",
    },
)
_STAGE = _object(
    ("groups",),
    groups=_list(
        _GROUP,
        10,
        "The groups that have to approve. A group without names is anyone who may decide.",
    ),
    any=_flag(
        "Whether the approval of one group is enough; otherwise all groups have to approve."
    ),
)
_STEP = _object(
    ("after",), **_PEOPLE, after=_seconds("Seconds after the request was made.")
)
_DEADLINE = _object(
    ("after", "then"),
    after=_seconds(
        "Seconds after the request was made. If the request itself has an earlier deadline, that one applies."
    ),
    then=_one_of(
        AtDeadline,
        "`reject` it, use its `default` response if it has one, or `halt`: stop the run.",
    ),
)
_ASKING = _object(
    stages=_list(
        _STAGE,
        10,
        "The stages of approval, in order. By default, one person who may decide.",
    ),
    with_requester=_flag(
        "Whether the requester may decide too, if their role allows it. By default, they may not."
    ),
    veto=_flag("Whether one rejection ends the request."),
    reason=_one_of(
        MessageRule, "When a decision needs a message: at a `rejection`, or `always`."
    ),
    typed_name=_flag("Whether people have to type the name of the tool to approve."),
    fresh_sign_in=_flag("Whether approvers need a fresh log-in."),
    deadline=_DEADLINE,
    reminders=_list(
        _seconds("Seconds after the request was made."),
        10,
        "When to remind people who may decide.",
    ),
    escalation=_list(_STEP, 10, "Other people to notify, and when."),
    working_hours=_flag(
        "Whether reminders and escalation count only the working hours of the people to notify."
    ),
    priority=_one_of(Priority, "The minimum priority."),
    channels=_list(
        {"enum": list(CHANNELS)},
        3,
        "The channels by which people are notified. By default, all.",
        uniqueItems=True,
    ),
    key_fields=_list(
        _text(200, "A JSON pointer."),
        20,
        "The values to show first.",
        uniqueItems=True,
    ),
)
_RULE = _object(
    ("name", "then"),
    name=_text(MAX_NAME, "Unique. Recorded with every request that the rule matches."),
    match={
        "type": "object",
        "description": "The requests that the rule matches; by default, all. `requesters` are usernames.",
    },
    when=_text(MAX_LENGTH, "A condition in CEL."),
    then=_one_of(
        Then,
        "`allow` and `deny` end approvals at once, `ask` asks people. Other kinds are always asked.",
    ),
    message=_text(
        MAX_MESSAGE,
        "The message to the agent if the rule denies, or to people if it asks.",
    ),
    ask=_ASKING
    | {
        "description": "The terms on which people are asked. For `allow` and `deny`: if it is not certain that the rule matches."
    },
)
POLICY_SCHEMA = _object(
    four_eyes=_flag(
        "Whether requesters may not decide requests that no rule matches (two-person rule)."
    ),
    repeat_rejections=_flag(
        f"Whether to reject an approval again, instead of asking people, if a person rejected it within {REPEAT_DAYS} days and "
        "it is requested again unchanged."
    ),
    rules=_list(_RULE, MAX_RULES, "The first rule that matches applies.")
    | {"minItems": 0},
)
