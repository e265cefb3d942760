"""JSON Schema of a written policy (docs/reference/policy.md describes its members); `policies` checks the rest."""

from __future__ import annotations

from typing import Any

from approvals.json_types import JsonDict
from approvals.models.people import RoleName
from approvals.policy.asks import AtDeadline
from approvals.policy.conditions.expressions import MAX_LENGTH
from approvals.policy.rules import MAX_MESSAGE, MAX_NAME, MAX_RULES, Then
from approvals.policy.terms import MessageRule
from approvals.states import Priority

#: Maximum deadline, reminder or escalation step, in seconds: a year.
MAX_SECONDS = 366 * 24 * 3600
CHANNELS = ("mail", "slack", "teams", "push", "relay")


def _object(required: tuple[str, ...] = (), **properties: Any) -> JsonDict:
    shape: JsonDict = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        shape["required"] = list(required)
    return shape


def _list(items: JsonDict, most: int, **more: Any) -> JsonDict:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most, **more}


def _text(most: int) -> JsonDict:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _one_of(names: Any) -> JsonDict:
    return {"enum": [str(name) for name in names]}


_FLAG: JsonDict = {"type": "boolean"}
_SECONDS: JsonDict = {"type": "integer", "minimum": 60, "maximum": MAX_SECONDS}
_NAMES = _list(_text(150), 100, uniqueItems=True)
_PEOPLE: JsonDict = {
    "people": _NAMES,
    "teams": _NAMES,
    "roles": _list(_one_of(RoleName.values), 4, uniqueItems=True),
}
_GROUP = _object(**_PEOPLE, votes={"type": "integer", "minimum": 1, "maximum": 50})
_STAGE = _object(("groups",), groups=_list(_GROUP, 10), any=_FLAG)
_STEP = _object(("after",), **_PEOPLE, after=_SECONDS)
_DEADLINE = _object(("after", "then"), after=_SECONDS, then=_one_of(AtDeadline))
_ASKING = _object(
    stages=_list(_STAGE, 10),
    with_requester=_FLAG,
    veto=_FLAG,
    reason=_one_of(MessageRule),
    typed_name=_FLAG,
    fresh_sign_in=_FLAG,
    deadline=_DEADLINE,
    reminders=_list(_SECONDS, 10),
    escalation=_list(_STEP, 10),
    working_hours=_FLAG,
    priority=_one_of(Priority),
    channels=_list(_one_of(CHANNELS), len(CHANNELS), uniqueItems=True),
    key_fields=_list(_text(200), 20, uniqueItems=True),
)
_RULE = _object(
    ("name", "then"),
    name=_text(MAX_NAME),
    match={"type": "object"},
    when=_text(MAX_LENGTH),
    then=_one_of(Then),
    message=_text(MAX_MESSAGE),
    ask=_ASKING,
)
POLICY_SCHEMA = _object(
    four_eyes=_FLAG,
    repeat_rejections=_FLAG,
    rules=_list(_RULE, MAX_RULES) | {"minItems": 0},
)
