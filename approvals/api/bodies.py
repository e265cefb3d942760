"""Read JSON bodies, bounded and strict, and idempotency keys of API requests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, BaseModel, ConfigDict, InstanceOf, ValidationError
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
)
from approvals.exceptions import BadBody, Invalid, NotJson, Refusal, TooLarge
from approvals.text.numbers import grouped
from approvals.text.translation import translated

#: An `Idempotency-Key` is printable ASCII without spaces.
KEY_PATTERN, MAX_KEY = r"^[\x21-\x7e]+$", 200
#: The header of a response that repeats an earlier one.
REPLAYED = "Idempotent-Replayed"


def mark_replayed(response: HttpResponse, replayed: bool) -> None:
    """Say in the header of a response that it repeats an earlier one, if it does."""
    if replayed:
        response.headers[REPLAYED] = "true"


def json_body(request: HttpRequest, *, max_bytes: int = MAX_BYTES, max_values: int = MAX_VALUES) -> Any:
    """Return the body as JSON. Raises NotJson (another content type), TooLarge and BadBody."""
    try:
        return load(_read(request, max_bytes), max_values=max_values)
    except NotCanonical as error:
        raise _unreadable(error) from error


def json_with_files(request: HttpRequest, *paths: Sequence[str]) -> Any:
    """Return the body as JSON that can be stored, but for the files in the lists or objects at `paths`: objects whose `content`
    is base64.

    Their contents count in addition to the rest of the body. Raises NotJson, TooLarge and BadBody.
    """
    value, problem = readable_json_with_files(request, *paths)
    if problem is not None:
        raise problem
    return value


def readable_json_with_files(request: HttpRequest, *paths: Sequence[str]) -> tuple[Any, Refusal | None]:
    """Return the same, and why it cannot be stored; None if it can. Raises NotJson, TooLarge and BadBody if it cannot be read."""
    body = _read(request, MAX_BYTES + MAX_CHARACTERS)
    try:
        value = load(body)
        bare, characters = value, 0
        for path in paths:
            bare, more = without_contents(bare, path)
            characters += more
        if len(body) - characters > MAX_BYTES:
            raise _too_large(MAX_BYTES)
    except NotCanonical as error:
        # Only a body with files may be as large.
        raise _unreadable(error) if len(body) <= MAX_BYTES else _too_large(MAX_BYTES) from error
    try:
        canonical(bare)
    except NotCanonical as error:
        return value, _unreadable(error) if len(body) <= MAX_BYTES else _too_large(MAX_BYTES)
    return value, None


def without_contents(value: Any, path: Sequence[str]) -> tuple[Any, int]:
    """Return a copy of JSON with digests in place of the contents of the files at `path`, and how many characters those have."""
    if path:
        if not isinstance(value, dict) or path[0] not in value:
            return value, 0
        inner, characters = without_contents(value[path[0]], path[1:])
        return {**value, path[0]: inner}, characters
    if isinstance(value, dict):
        files, characters = without_contents(list(value.values()), path)
        return dict(zip(value, files, strict=True)), characters
    bare, characters = [], 0
    for file in value if isinstance(value, list) else ():
        content = file.get("content") if isinstance(file, dict) else None
        if isinstance(content, str):
            characters += len(content)
            file = {**file, "content": hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()}
        bare.append(file)
    return bare if characters else value, characters


def first_problem(value: Mapping[str, Any]) -> tuple[str, str]:
    """Return the path of the first value in an object that cannot be stored, and why; two empty texts if all can."""
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
    return TooLarge(_("The body is larger than %(limit)s bytes. Send less.") % {"limit": grouped(limit)})


def _unreadable(error: NotCanonical) -> BadBody:
    return BadBody(_("The body could not be read: %(error)s.") % {"error": translated(error)})


def json_object(request: HttpRequest, *, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return the body as a JSON object. Raises NotJson, TooLarge and BadBody."""
    body = json_body(request, max_bytes=max_bytes)
    if not isinstance(body, dict):
        raise BadBody(_("The body must be a JSON object."))
    return body


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the `Idempotency-Key` header; None without one. Raises Invalid."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and (len(key) > MAX_KEY or not re.fullmatch(KEY_PATTERN, key)):
        error = _("must be 1 to %(limit)s printable ASCII characters without spaces") % {"limit": MAX_KEY}
        raise Invalid(_("The `Idempotency-Key` header is invalid."), {"Idempotency-Key": error})
    return key


def _storable(value: Any) -> Any:
    # One level less than what is stored, which holds it under its name.
    canonical(value, max_depth=MAX_DEPTH - 1)
    return value


#: Text of any characters: pydantic's own refuses some that are replaced, or refused in words of ours.
Text = InstanceOf[str]
#: What can be stored.
StorableText = Annotated[Text, AfterValidator(_storable)]
StorableObject = Annotated[dict[Any, Any], AfterValidator(_storable)]

#: What is wrong with a member, by pydantic's type of the error.
WORDS: Mapping[str, Promise] = {
    "missing": gettext_lazy("is missing"),
    "is_instance_of": gettext_lazy("is not text"),
    "dict_type": gettext_lazy("is not a JSON object"),
    "too_short": gettext_lazy("is empty"),
    "too_long": gettext_lazy("is longer than %(limit)s characters"),
    "too_long List": gettext_lazy("has more than %(limit)s items"),
}


class Body(BaseModel):
    """A body in the shape of another project: unknown members are ignored, and its errors are in our words.

    A list in it has a bound, or `FailFast`: all its errors are made before any is named.
    """

    model_config = ConfigDict(alias_generator=to_camel)

    #: What an invalid body is called.
    refusal: ClassVar[Promise]
    #: What is wrong with a member, by its name or by pydantic's type of the error, where WORDS do not fit.
    member_errors: ClassVar[Mapping[str, Promise]] = {}

    @classmethod
    def read(cls, body: Any) -> Self:
        """Return the checked body. Raises Invalid with an error per member."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            errors: dict[str, str] = {}
            for each in error.errors(include_url=False, include_input=False):
                errors.setdefault(*cls._named(each))
            raise Invalid(str(cls.refusal), errors) from error

    @classmethod
    def _named(cls, error: ErrorDetails) -> tuple[str, str]:
        """Return the path of a member, and what is wrong with it."""
        return ".".join(map(str, error["loc"])), cls._message_of(error)

    @classmethod
    def _message_of(cls, error: ErrorDetails) -> str:
        kind, context = error["type"], error.get("ctx", {})
        for name in (str(error["loc"][-1]), kind):
            if name in cls.member_errors:
                return str(cls.member_errors[name])
        if kind == "value_error":
            return translated(context["error"])
        message = WORDS.get(f"{kind} {context.get('field_type')}") or WORDS[kind]
        return str(message) % {"limit": grouped(context.get("max_length", 0))}
