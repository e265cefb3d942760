"""Read JSON bodies, bounded and strict, and idempotency keys of API requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, BaseModel, ConfigDict, InstanceOf, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from approvals.db.canonical_json import MAX_BYTES, MAX_DEPTH, MAX_VALUES, NotCanonical, canonical, load
from approvals.exceptions import BadBody, Invalid, NotJson, TooLarge
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
    if request.content_type != "application/json":
        raise NotJson
    # The declared length is not enough: a client may declare none.
    body = request.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise TooLarge(_("The body is larger than %(limit)s bytes. Send less.") % {"limit": f"{max_bytes:,}"})
    try:
        return load(body, max_values=max_values)
    except NotCanonical as error:
        raise BadBody(_("The body could not be read: %(error)s.") % {"error": translated(error)}) from error


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
        return str(message) % {"limit": f"{context.get('max_length', 0):,}"}
