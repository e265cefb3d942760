"""JSON bodies of API requests: read strictly within bounds, and built from models that reject unknown fields."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Self

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    InstanceOf,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from approvals.asking.attachments import MAX_CHARACTERS
from approvals.db.canonical_json import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_VALUES,
    NotCanonical,
    canonical,
    clean_text,
    load,
    utc,
)
from approvals.exceptions import BadBody, Invalid, NotJson, Refusal, TooLarge
from approvals.json_types import JsonDict, JsonMapping
from approvals.text.numbers import grouped
from approvals.text.translation import translated

#: An `Idempotency-Key` is printable ASCII without spaces.
KEY_PATTERN = r"^[\x21-\x7e]+$"
MAX_KEY = 200
#: The header of a response that repeats an earlier one.
REPLAYED = "Idempotent-Replayed"


def mark_replayed(response: HttpResponse, replayed: bool) -> None:
    """Mark a response that repeats an earlier one, in its header."""
    if replayed:
        response.headers[REPLAYED] = "true"


def json_body(
    request: HttpRequest, *, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES
) -> Any:
    """Return the body as JSON. Raise NotJson (another content type), TooLarge or BadBody."""
    try:
        return load(_read(request, max_bytes), max_values=max_values)
    except NotCanonical as error:
        raise _unreadable(error) from error


def json_with_files(request: HttpRequest, *paths: Sequence[str]) -> Any:
    """Return the body as storable JSON, except for the files in the lists or objects at `paths`: objects with base64 `content`.

    File contents have a size limit of their own. Raise NotJson, TooLarge or BadBody.
    """
    value, problem = readable_json_with_files(request, *paths)
    if problem is not None:
        raise problem
    return value


def readable_json_with_files(
    request: HttpRequest, *paths: Sequence[str]
) -> tuple[Any, Refusal | None]:
    """Return the same, and why it cannot be stored (None if it can). Raise NotJson, TooLarge or BadBody if it is unreadable."""
    body = _read(request, MAX_BYTES + MAX_CHARACTERS)
    try:
        value = load(body)
        bare = value
        characters = 0
        for path in paths:
            bare, more = without_contents(bare, path)
            characters += more
        if len(body) - characters > MAX_BYTES:
            raise _too_large(MAX_BYTES)
    except NotCanonical as error:
        # Only a body with files may be this large.
        raise (
            _unreadable(error) if len(body) <= MAX_BYTES else _too_large(MAX_BYTES)
        ) from error
    try:
        canonical(bare)
    except NotCanonical as error:
        return value, _unreadable(error) if len(body) <= MAX_BYTES else _too_large(
            MAX_BYTES
        )
    return value, None


def without_contents(value: Any, path: Sequence[str]) -> tuple[Any, int]:
    """Return a copy of JSON with digests in place of file contents at `path`, and the number of characters of the contents."""
    if path:
        if not isinstance(value, dict) or path[0] not in value:
            return value, 0
        inner, characters = without_contents(value[path[0]], path[1:])
        return {**value, path[0]: inner}, characters
    if isinstance(value, dict):
        files, characters = without_contents(list(value.values()), path)
        return dict(zip(value, files, strict=True)), characters
    bare = []
    characters = 0
    for file in value if isinstance(value, list) else ():
        content = file.get("content") if isinstance(file, dict) else None
        if isinstance(content, str):
            characters += len(content)
            file = {
                **file,
                "content": hashlib.sha256(
                    content.encode("utf-8", "replace")
                ).hexdigest(),
            }
        bare.append(file)
    return bare if characters else value, characters


def first_problem(value: JsonMapping) -> tuple[str, str]:
    """Return the path of the first value in an object that cannot be stored, and the reason; two empty texts if all can."""
    path: list[str] = []
    reason = ""
    held: Any = value
    while isinstance(held, dict | list):
        members = held.items() if isinstance(held, dict) else enumerate(held)
        reasons = ((name, item, _reason(name, item)) for name, item in members)
        first = next((each for each in reasons if each[2]), None)
        if first is None:
            break
        name, held, reason = first
        path.append(clean_text(str(name)))
    return ".".join(path), reason


def _reason(name: str | int, value: Any) -> str:
    """Return why a member or an item cannot be stored; an empty text if it can."""
    try:
        canonical({str(name): value})
    except NotCanonical as error:
        return translated(error)
    return ""


def _read(request: HttpRequest, max_bytes: int) -> bytes:
    if request.content_type != "application/json":
        raise NotJson
    # The declared length is not enough: a client may declare none.
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        _("The body is larger than %(limit)s bytes. Send less.")
        % {"limit": grouped(limit)}
    )


def _unreadable(error: NotCanonical) -> BadBody:
    return BadBody(
        _("The body could not be read: %(error)s.") % {"error": translated(error)}
    )


def json_object(request: HttpRequest) -> JsonDict:
    """Return the body as a JSON object. Raise NotJson, TooLarge or BadBody."""
    body = json_body(request)
    if not isinstance(body, dict):
        raise BadBody(_("The body must be a JSON object."))
    return body


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the `Idempotency-Key` header; None without one. Raise Invalid."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and (len(key) > MAX_KEY or not re.fullmatch(KEY_PATTERN, key)):
        error = _(
            "must be 1 to %(limit)s printable ASCII characters without spaces"
        ) % {"limit": MAX_KEY}
        raise Invalid(
            _("The `Idempotency-Key` header is invalid."), {"Idempotency-Key": error}
        )
    return key


def _storable(value: Any) -> Any:
    # One level less than the limit of storage, where the value is nested under its name.
    canonical(value, max_depth=MAX_DEPTH - 1)
    return value


#: Text of any characters: pydantic's own type rejects some that are replaced here, or rejected with our own message.
Text = InstanceOf[str]
#: Values that can be stored.
StorableText = Annotated[Text, AfterValidator(_storable)]
StorableObject = Annotated[dict[Any, Any], AfterValidator(_storable)]

#: Messages for invalid members, by pydantic's error type.
WORDS: Mapping[str, Promise] = {
    "missing": gettext_lazy("is missing"),
    "is_instance_of": gettext_lazy("is not text"),
    "dict_type": gettext_lazy("is not a JSON object"),
    "too_short": gettext_lazy("is empty"),
    "too_long": gettext_lazy("is longer than %(limit)s characters"),
    "too_long List": gettext_lazy("has more than %(limit)s items"),
}


class Body(BaseModel):
    """A body in another project's format: unknown members are ignored, and its errors have our own messages.

    Lists need a maximum length or `FailFast`, because all errors are created before the first is reported.
    """

    model_config = ConfigDict(alias_generator=to_camel)

    #: The summary message for an invalid body.
    refusal: ClassVar[Promise]
    #: Messages for invalid members, by name or by pydantic's error type, where WORDS do not apply.
    member_errors: ClassVar[Mapping[str, Promise]] = {}

    @classmethod
    def read(cls, body: Any) -> Self:
        """Return the validated body. Raise Invalid with an error per member."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            errors: dict[str, str] = {}
            for each in error.errors(include_url=False, include_input=False):
                errors.setdefault(*cls._named(each))
            raise Invalid(str(cls.refusal), errors) from error

    @classmethod
    def _named(cls, error: ErrorDetails) -> tuple[str, str]:
        """Return the path of a member, and the message of its error."""
        return ".".join(map(str, error["loc"])), cls._message_of(error)

    @classmethod
    def _message_of(cls, error: ErrorDetails) -> str:
        kind = error["type"]
        context = error.get("ctx", {})
        for name in (str(error["loc"][-1]), kind):
            if name in cls.member_errors:
                return str(cls.member_errors[name])
        if kind == "value_error":
            return translated(context["error"])
        message = WORDS.get(f"{kind} {context.get('field_type')}") or WORDS[kind]
        return str(message) % {"limit": grouped(context.get("max_length", 0))}


class Document(BaseModel):
    """A body or a set of filters; unknown fields are refused. The text below a field is its description for clients."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


def shown_with(example: JsonDict, **rules: Any) -> ConfigDict:
    """Return the configuration of a body with an example, for OpenAPI and the API page.

    `rules` are constraints between fields, in JSON Schema keywords that client generators ignore.
    """
    return ConfigDict(json_schema_extra={"examples": [example], **rules})


NULL = {"type": "null"}
#: Moments that can be shown in every time zone.
YEARS = range(2, 9999)


def when(
    fields: JsonDict,
    then: JsonDict,
    *,
    required: Iterable[str] | None = None,
) -> JsonDict:
    """Return a JSON Schema condition: if all these fields match, the others are present, or only those in `required`."""
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
        if (
            moment.tzinfo is None
            or "T" not in value.upper()
            or moment.year not in YEARS
        ):
            raise ValueError
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            _("must be a date and time with a time zone, like 2026-11-21T12:00:00Z")
        ) from error


def _web_address(value: str) -> str:
    if "@" in value.partition("//")[2].partition("/")[0]:
        raise ValueError(_("must not contain a username or password"))
    return value


#: Accepts 615.0 as an integer, as JSON Schema does; placed after the bounds of a StrictInt.
WHOLE = BeforeValidator(_whole)
#: ISO 8601 with a time zone, converted to UTC.
Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    PlainSerializer(utc, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
#: A client's own id of a workflow. It is part of URLs, so it contains nothing that has to be escaped.
WorkflowId = Annotated[
    str,
    StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.:@=+~,-]*$"),
]
WebAddress = Annotated[
    str,
    StringConstraints(max_length=500, pattern=r"^https?://[^\s/?#\\]+[^\s\\]*$"),
    AfterValidator(_web_address),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 500,
            "pattern": r"^https?://[^\s/?#\\@]+([?#][^\s/\\@]*)?(/[^\s\\]*)?$",
        }
    ),
]
Short = Annotated[str, StringConstraints(max_length=100)]
Name = Annotated[str, StringConstraints(max_length=200)]
#: A cursor: a moment and an id. This is for the document; a cursor has its own parser.
CURSOR_PATTERN = r"^[0-9T:.+Z-]+,[0-9a-f-]{36}$"
