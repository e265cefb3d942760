"""Shared parts of chat clients' bodies: client-chosen ids."""

from __future__ import annotations

from typing import Annotated

from django.utils.translation import gettext as _
from pydantic import PlainValidator

from approvals.db.canonical_json import canonical

MAX_ID = 200


def _id(value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_ID:
        raise ValueError(
            _("must be text of 1 to %(limit)s characters") % {"limit": MAX_ID}
        )
    canonical(value)
    return value


#: A client-chosen id or name; one that may be null, and one that may be empty too.
Id = Annotated[str, PlainValidator(_id)]
OptionalId = Annotated[
    str, PlainValidator(lambda value: "" if value is None else _id(value))
]
Name = Annotated[
    str, PlainValidator(lambda value: "" if value in (None, "") else _id(value))
]
