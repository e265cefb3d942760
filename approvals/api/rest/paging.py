"""Parameters of lists that come in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from django.utils.translation import gettext as _
from pydantic import Field

from approvals.api.bodies import CURSOR_PATTERN, Name
from approvals.exceptions import Invalid

Place = TypeVar("Place")

Limit = Annotated[int, Field(ge=1, le=200, description="How many to return.")]
PageCursor = Annotated[
    Name | None,
    Field(
        description="`next` of the previous page.",
        json_schema_extra={"pattern": CURSOR_PATTERN},
    ),
]


def place_after(text: str | None, parse: Callable[[str], Place | None]) -> Place | None:
    """Return the place after which a page begins; None for the first page. Raise Invalid for an invalid cursor."""
    place = None if text is None else parse(text)
    if text is not None and place is None:
        raise Invalid(
            _("The cursor is invalid."),
            {"cursor": _("must be the `next` of the previous page")},
        )
    return place
