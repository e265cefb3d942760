"""What of a request people do not see: where its schema and the settings of its tool say that, and copies with it masked."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.db.json_pointer import pointer_to
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Decision
from approvals.schema.references import NoTarget, follow_references, members
from approvals.text.secrets import Hidden, StillHidden, hidden_in, masked, restored

#: Schemas of one document that are looked at, and how deep they may be nested.
MAX_SCHEMAS, MAX_LEVELS = 2_000, 30
#: The members that make a schema secret.
_MARKS = (("format", "password"), ("writeOnly", True))
#: The columns whose names are the first step of a pointer to something hidden.
VALUES = ("title", "message", "input", "context", "said_before", "options", "suggestions", "default_response")
OF_DECISION = ("comment", "edited_input", "answer")
#: The pointer to what its call returned.
OUTPUT = "/output"
#: What the schema of a request is about: the input, and the answer to a question or form.
ANSWERS = ("input", "edited_input", "answer", "default_response")


def secrets_in_schema(schema: Mapping[str, Any] | None) -> list[str]:
    """Return the JSON pointers to what a schema calls secret: `format: password` or `writeOnly: true`."""
    # Most schemas have nothing of the kind.
    if schema is None or not any(member in _MARKS for member in members(schema)):
        return []
    return list(dict.fromkeys(_secret_places(schema, schema, "", iter(range(MAX_SCHEMAS)), 0)))


def _is_secret(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "password" or schema.get("writeOnly") is True


def _secret_places(schema: Any, root: Mapping[str, Any], at: str, budget: Iterator[int], level: int) -> Iterator[str]:
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return
    if not isinstance(schema, Mapping):
        return
    if _is_secret(schema) or level > MAX_LEVELS or next(budget, None) is None:
        # What is too much to look through counts as secret.
        yield at
        return
    for below, step in _below(schema):
        yield from _secret_places(below, root, f"{at}{step}", budget, level + 1)


def _below(schema: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the schemas within a schema, each with the step to the values it is about."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from ((each, "") for each in _list(schema.get(keyword)))
    for keyword in ("if", "then", "else", "not"):
        if keyword in schema:
            yield schema[keyword], ""
    for each in _mapping(schema.get("dependentSchemas")).values():
        yield each, ""
    for name, each in _mapping(schema.get("properties")).items():
        yield each, pointer_to(name)
    for number, each in enumerate(_list(schema.get("prefixItems"))):
        yield each, f"/{number}"
    for each in _mapping(schema.get("patternProperties")).values():
        yield each, "/*"
    for keyword in ("items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
        if isinstance(schema.get(keyword), Mapping):
            yield schema[keyword], "/*"


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def masked_input(request: ApprovalRequest, value: Any, at: str = "") -> Any:
    """Return an input of the request, or what its call returned, with the secrets masked. `at` is the pointer to it."""
    return masked(value, request.secrets or (), at)


def masked_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of an audit entry as people read it, and as auditors export it."""
    return {name: masked(value, _secrets_of(name, data.get("secrets"))) for name, value in data.items()}


def _secrets_of(name: str, secrets: Sequence[str] | None) -> Sequence[str]:
    """Return the secrets of a request that count for this column: a schema that is secret itself is that of the answer."""
    return [secret for secret in secrets or () if secret or name in ANSWERS]


def with_secrets(sent: Any, shown: Any) -> Any:
    """Return an input that a person changed, with what `shown` hides as it was. Invalid if a mask stands elsewhere."""
    try:
        return restored(sent, shown)
    except StillHidden as error:
        message = _("A hidden value cannot be moved or copied. Put it back, or write the value itself.")
        raise Invalid(message, {"edited_input": _("has a hidden value in another place")}) from error


def masked_request(request: ApprovalRequest) -> ApprovalRequest:
    """Return the request as people see it: a copy with its secrets masked, which must never be stored.

    Columns that were not read are not read for it either.
    """
    if request.is_masked:
        return request
    shown = copy.copy(request)
    shown.is_masked = True
    shown.hides = _mask_columns(request, request, shown, VALUES)
    decision = request._state.fields_cache.get("decision")
    if isinstance(decision, Decision):
        decided = masked_decision(request, decision)
        shown.hides |= any(decided.__dict__.get(name) is not decision.__dict__.get(name) for name in OF_DECISION)
        shown._state.fields_cache["decision"] = decided
    return shown


def masked_decision(request: ApprovalRequest, decision: Decision) -> Decision:
    """Return a copy of the decision of a request with the secrets masked, which must never be stored."""
    shown = copy.copy(decision)
    _mask_columns(request, decision, shown, OF_DECISION)
    return shown


def _mask_columns(request: ApprovalRequest, row: Any, shown: Any, names: Sequence[str]) -> bool:
    """Mask these columns of a copy, as far as they were read; return whether there was anything to mask."""
    hides = False
    for name in names:
        if name in row.__dict__:
            value = row.__dict__[name]
            masked_value = masked(value, _secrets_of(name, request.secrets), f"/{name}")
            setattr(shown, name, masked_value)
            hides |= masked_value is not value
    return hides


def hidden_values(request: ApprovalRequest) -> dict[str, Hidden]:
    """Return what people do not see of a request that was read whole, by its pointer."""
    shown = masked_request(request)
    decision = shown._state.fields_cache.get("decision")
    values = [getattr(shown, name) for name in VALUES]
    values += [getattr(decision, name) for name in OF_DECISION] if decision is not None else []
    if request.report is not None:
        values.append(masked_input(request, json.loads(request.report)["data"]["output"], OUTPUT))
    return {hidden.pointer: hidden for hidden in hidden_in(values) if hidden.pointer}
