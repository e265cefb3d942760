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
        "Who has to approve. A group without names is anyone who may decide.",
    ),
    any=_flag("Whether one of the groups is enough; else all of them are needed."),
)
_STEP = _object(
    ("after",), **_PEOPLE, after=_seconds("Seconds after the request was made.")
)
_DEADLINE = _object(
    ("after", "then"),
    after=_seconds(
        "Seconds after the request was made. An earlier deadline of the request itself stays."
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
        "Who has to approve, one stage after another. Left out: one person who may decide.",
    ),
    with_requester=_flag(
        "Whether the person who runs the agent may decide too, if they may decide. Left out: they may not."
    ),
    veto=_flag("Whether one rejection ends the request."),
    reason=_one_of(
        MessageRule, "When a decision needs a message: at a `rejection`, or `always`."
    ),
    typed_name=_flag(
        "Whether the name of the tool has to be typed before it is approved."
    ),
    fresh_sign_in=_flag("Whether whoever approves needs a fresh log-in."),
    deadline=_DEADLINE,
    reminders=_list(
        _seconds("Seconds after the request was made."),
        10,
        "When to remind those who may decide.",
    ),
    escalation=_list(_STEP, 10, "Whom else to notify, and when."),
    working_hours=_flag(
        "Whether reminders and escalation count only the working hours of who is notified."
    ),
    priority=_one_of(Priority, "The least priority."),
    channels=_list(
        {"enum": list(CHANNELS)},
        3,
        "By what people are notified. Left out: by all.",
        uniqueItems=True,
    ),
    key_fields=_list(
        _text(200, "A JSON pointer."),
        20,
        "The values that are shown first.",
        uniqueItems=True,
    ),
)
_RULE = _object(
    ("name", "then"),
    name=_text(
        MAX_NAME, "Unique. It is on record with every request that the rule fits."
    ),
    match={
        "type": "object",
        "description": "Which requests; left out, all. `requesters` are usernames.",
    },
    when=_text(MAX_LENGTH, "A condition in CEL."),
    then=_one_of(
        Then,
        "`allow` and `deny` end approvals at once, `ask` asks people. Other kinds are always asked.",
    ),
    message=_text(
        MAX_MESSAGE,
        "What the agent is told if the rule denies, or people read if it asks.",
    ),
    ask=_ASKING
    | {
        "description": "How people are asked. For `allow` and `deny`: if it is not certain that the rule matches."
    },
)
POLICY_SCHEMA = _object(
    four_eyes=_flag(
        "Whether who runs the agent may decide nothing that no rule speaks of."
    ),
    repeat_rejections=_flag(
        f"Whether an approval that a person has rejected within {REPEAT_DAYS} days, and that is asked again unchanged, is "
        "rejected again, where people would be asked."
    ),
    rules=_list(_RULE, MAX_RULES, "The first rule that fits decides.")
    | {"minItems": 0},
)
