"""The terms of a grant in words, before it is given and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from approvals.db.json_pointer import pointer_parts, value_at
from approvals.models import ApprovalRequest
from approvals.pages.key_fields import short
from approvals.policy import grants
from approvals.states import Audience, Width
from approvals.text.numbers import grouped
from approvals.text.secrets import masked
from approvals.text.text import visible, visible_name
from approvals.text.times import clock_time

_WIDTHS = {
    Width.INPUT: gettext_lazy("this exact input"),
    Width.FIELDS: gettext_lazy("the same key fields: %(values)s"),
    Width.TOOL: gettext_lazy("any input"),
}
_AUDIENCES = {
    Audience.AGENT: gettext_lazy("the agent %(agent)s (requested by %(person)s)"),
    Audience.KEY: gettext_lazy("this API key (requested by %(person)s)"),
    Audience.WORKFLOW: gettext_lazy("this workflow (requested by %(person)s)"),
    Audience.THREAD: gettext_lazy("this conversation (requested by %(person)s)"),
}


def what(width: int, fields: Iterable[str]) -> str:
    """Describe the coverage of a grant; `fields` are the names of its key fields, with their values if known."""
    return str(_WIDTHS[Width(width)]) % {"values": ", ".join(fields)}


def what_of(request: ApprovalRequest, width: int, key_fields: Sequence[str]) -> str:
    """Describe the coverage of a grant with this request."""
    fields = grants.fields_of(request.input, key_fields) or ()
    return what(
        width,
        (
            f"{name_of(each['pointer'])} {_shown(each, request.secrets or ())}"
            for each in fields
        ),
    )


def name_of(pointer: str) -> str:
    """Return the name of a key field."""
    return visible_name(pointer_parts(pointer)[-1])


def _shown(field: Mapping[str, Any], secrets: Sequence[str]) -> str:
    """Return the value of a key field for display: masked as within the input."""
    inner = field["value"]
    for part in reversed(pointer_parts(field["pointer"])):
        inner = {part: inner}
    return short(value_at(masked(inner, secrets), field["pointer"]))


def for_whom(audience: str, agent: str, person: str) -> str:
    """Describe the audience of a grant; `person` is the user who asked."""
    return str(_AUDIENCES[Audience(audience)]) % {
        "agent": visible(agent),
        "person": person,
    }


def how_long(until: datetime | None, uses: int | None) -> str:
    """Describe when a grant ends by itself."""
    time = _("until %(time)s") % {"time": clock_time(until)} if until else ""
    number = (
        ngettext("at most %(count)s time", "at most %(count)s times", uses or 0)
        % {"count": grouped(uses)}
        if uses
        else ""
    )
    return ", ".join(filter(None, (time, number)))
