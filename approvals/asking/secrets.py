"""Find the hidden parts of a request, from its schema and its tool's settings, and return its values with masks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from approvals.asking.calls import RequestOfCall
from approvals.db.json_pointer import pointer_to
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, Decision
from approvals.schema.keywords import NoTarget, follow_references, members
from approvals.text.secrets import hidden_in, masked
from approvals.text.true_values import StillHidden, restored, true_values

#: Maximum number of schemas examined in a document, and their maximum depth.
MAX_SCHEMAS = 2_000
MAX_LEVELS = 30
#: Members that mark a schema as secret.
_MARKS = (("format", "password"), ("writeOnly", True))
#: Columns whose names can be the first step of a pointer to a secret.
VALUES = (
    "title",
    "message",
    "input",
    "context",
    "said_before",
    "options",
    "suggestions",
    "default_response",
)
OF_DECISION = ("comment", "edited_input", "answer")
#: Those of VALUES that a card shows; the conversation is shown apart.
SHOWN = tuple(name for name in VALUES if name != "said_before")
#: Pointer to the result of the call.
OUTPUT = "/output"
#: Columns with values of the schema: the input, and the answer to a question or form.
ANSWERS = ("input", "edited_input", "answer", "default_response")


def secrets_in_schema(schema: JsonMapping | None) -> list[str]:
    """Return JSON pointers to the parts that a schema marks as secret: `format: password` or `writeOnly: true`."""
    # Most schemas have no such marks.
    if schema is None or not any(member in _MARKS for member in members(schema)):
        return []
    return list(
        dict.fromkeys(_secret_places(schema, schema, "", iter(range(MAX_SCHEMAS)), 0))
    )


def _is_secret(schema: JsonMapping) -> bool:
    return schema.get("format") == "password" or schema.get("writeOnly") is True


def _secret_places(
    schema: Any, root: JsonMapping, at: str, budget: Iterator[int], level: int
) -> Iterator[str]:
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return
    if not isinstance(schema, Mapping):
        return
    if _is_secret(schema) or level > MAX_LEVELS or next(budget, None) is None:
        # Parts beyond the limits count as secret.
        yield at
        return
    for below, step in _below(schema):
        yield from _secret_places(below, root, f"{at}{step}", budget, level + 1)


def _below(schema: JsonMapping) -> Iterator[tuple[Any, str]]:
    """Yield the direct subschemas of a schema, each with the pointer step to its values."""
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
    for keyword in (
        "items",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
    ):
        if isinstance(schema.get(keyword), Mapping):
            yield schema[keyword], "/*"


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _mapping(value: Any) -> JsonMapping:
    return value if isinstance(value, Mapping) else {}


def masked_input(
    request: ApprovalRequest | RequestContent | RequestOfCall, value: Any, at: str = ""
) -> Any:
    """Return an input of the request, or the result of its call, with secrets masked. `at` is the pointer to it."""
    return masked(value, request.secrets or (), at)


def masked_data(data: JsonMapping) -> JsonDict:
    """Return the data of an audit entry with masks, for people and for exports."""
    return {
        name: masked(value, _secrets_of(name, data.get("secrets")))
        for name, value in data.items()
    }


def _secrets_of(name: str, secrets: Sequence[str] | None) -> Sequence[str]:
    """Return the secrets of a request for this column; a schema that is secret as a whole covers only the answer."""
    return [secret for secret in secrets or () if secret or name in ANSWERS]


def with_secrets(sent: Any, value: Any, shown: Any) -> Any:
    """Restore hidden values in an input edited by a person who saw `shown` of `value`. Raise Invalid for a misplaced mask."""
    try:
        return restored(sent, value, shown)
    except StillHidden as error:
        message = _(
            "A hidden value cannot be moved or copied. Put it back, or enter the value itself."
        )
        raise Invalid(
            message, {"edited_input": _("has a hidden value in another place")}
        ) from error


@dataclass(frozen=True, kw_only=True)
class RequestContent:
    """The content of a request. `input` is what is decided now, with its digest: a proposed input while people vote on it."""

    pk: UUID
    kind: str
    title: str
    message: str
    tool_name: str
    tool_call_id: str | None
    step_path: Sequence[str]
    agent: str
    input: Any
    input_digest: str
    response_schema: JsonMapping | None
    options: Sequence[JsonMapping]
    multiple: bool
    allow_text: bool
    suggestions: Sequence[str]
    context: Any
    attachments: Sequence[JsonMapping] | None
    has_default: bool
    default_response: Any
    callback_url: str
    callback: JsonMapping | None
    secrets: Sequence[str] | None


def request_content(request: ApprovalRequest) -> RequestContent:
    return RequestContent(
        pk=request.pk,
        kind=request.kind,
        title=request.title,
        message=request.message,
        tool_name=request.tool_name,
        tool_call_id=request.tool_call_id,
        step_path=request.step_path,
        agent=request.agent,
        input=request.voted_input,
        input_digest=request.voted_digest if request.pending else request.input_digest,
        response_schema=request.response_schema,
        options=request.options,
        multiple=request.multiple,
        allow_text=request.allow_text,
        suggestions=request.suggestions,
        context=request.context,
        attachments=request.attachments,
        has_default=request.has_default,
        default_response=request.default_response,
        callback_url=request.callback_url,
        callback=request.callback,
        secrets=request.secrets,
    )


@dataclass(frozen=True, kw_only=True)
class ShownContent(RequestContent):
    """The content of a request with masks in place of its secrets."""


def shown_content(request: ApprovalRequest) -> ShownContent:
    """Return the content of a request with masks."""
    values = vars(request_content(request))
    shown = {
        name: masked(values[name], _secrets_of(name, request.secrets), f"/{name}")
        for name in SHOWN
    }
    return ShownContent(**{**values, **shown})


def masked_column(
    request: ApprovalRequest, name: str, decision: Decision | None = None
) -> Any:
    """Return one of VALUES, a column of a request, or one of OF_DECISION, a column of its decision, with masks."""
    value = getattr(request if decision is None else decision, name)
    return masked(value, _secrets_of(name, request.secrets), f"/{name}")


def masked_report(report: str) -> str:
    """Return the audit entry of a reported result with its secrets masked."""
    entry = json.loads(report)
    return json.dumps({**entry, "data": masked_data(entry["data"])})


def _decision_read(request: ApprovalRequest) -> Decision | None:
    """Return the decision of a request if it is already loaded."""
    decision = request._state.fields_cache.get("decision")
    return decision if isinstance(decision, Decision) else None


def hidden_values(request: ApprovalRequest) -> JsonDict:
    """Return the hidden values of a fully loaded request, by the pointers of their masks; of its input as it is decided now."""
    columns = {name: getattr(request, name) for name in VALUES} | {
        "input": request.voted_input
    }
    decision = _decision_read(request)
    if decision is not None:
        columns |= {name: getattr(decision, name) for name in OF_DECISION}
    hidden: dict[tuple[str, bool], Any] = {}
    for name, value in columns.items():
        shown = masked(value, _secrets_of(name, request.secrets), f"/{name}")
        hidden |= true_values(value, shown)
    if request.report is not None:
        output = json.loads(request.report)["data"]["output"]
        hidden |= true_values(output, masked_input(request, output, OUTPUT))
    return {
        pointer: value
        for (pointer, is_name), value in hidden.items()
        if pointer and not is_name
    }


def hidden_pointers(*values: Any) -> list[str]:
    """Return the pointers to the hidden values in masked values, each once."""
    pointers = (hidden.pointer for hidden in hidden_in(values) if not hidden.is_name)
    return list(dict.fromkeys(pointer for pointer in pointers if pointer))
