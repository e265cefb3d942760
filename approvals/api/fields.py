"""The building blocks of the API's documents: bodies that refuse unknown fields, moments, ids, bounded texts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from approvals.db.canonical_json import utc


class Document(BaseModel):
    """A body or a set of filters; unknown fields are refused. The text below a field is its description for clients."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


def shown_with(example: dict[str, Any], **rules: Any) -> ConfigDict:
    """Return the configuration of a body with an example, for OpenAPI and the page that shows the API.

    `rules` are what one field says about another, in words of JSON Schema that generators of clients ignore.
    """
    return ConfigDict(json_schema_extra={"examples": [example], **rules})


NULL = {"type": "null"}
#: Those whose moments can be told in every time zone.
YEARS = range(2, 9999)


def when(fields: dict[str, Any], then: dict[str, Any], *, required: Iterable[str] | None = None) -> dict[str, Any]:
    """Return what JSON Schema says where all these fields are so: then the others are there, or only those `required`."""
    needed = list(then if required is None else required)
    return {
        "if": {"required": list(fields), "properties": fields},
        "then": {"required": needed, "properties": then},
    }


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if not isinstance(value, str):
        raise ValueError(_("must be text, like 2026-11-21T12:00:00Z"))
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None or "T" not in value.upper() or moment.year not in YEARS:
            raise ValueError
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(_("must be a date and time with a time zone, like 2026-11-21T12:00:00Z")) from error


def _web_address(value: str) -> str:
    if "@" in value.partition("//")[2].partition("/")[0]:
        raise ValueError(_("must not contain a username or password"))
    return value


#: Takes 615.0 for the integer that it is in JSON Schema; after the bounds of a StrictInt.
WHOLE = BeforeValidator(_whole)
#: ISO 8601 with a time zone, kept in UTC.
Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    PlainSerializer(utc, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
#: A client's own id of a workflow. It is part of URLs, so it contains nothing that has to be escaped.
WorkflowId = Annotated[str, StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@=+~,-]*$")]
WebAddress = Annotated[
    str,
    StringConstraints(max_length=500, pattern=r"^https?://[^\s/?#\\]+[^\s\\]*$"),
    AfterValidator(_web_address),
    WithJsonSchema(
        {"type": "string", "maxLength": 500, "pattern": r"^https?://[^\s/?#\\@]+([?#][^\s/\\@]*)?(/[^\s\\]*)?$"}
    ),
]
Short = Annotated[str, StringConstraints(max_length=100)]
Name = Annotated[str, StringConstraints(max_length=200)]
#: Of a cursor: a moment and an id. It is for the document; a cursor is read by its own parser.
CURSOR_PATTERN = r"^[0-9T:.+Z-]+,[0-9a-f-]{36}$"
