"""The filter chips of the inbox: options are links, so that one press applies a filter and the address contains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from approvals.queries.filters import (
    AGES,
    ANY,
    BY_DEADLINE,
    DEADLINES,
    GROUPS,
    NEWEST,
    OLDEST,
    OVER,
    WAITING,
    Filters,
)
from approvals.states import FINAL, Kind, Priority, Status
from approvals.text.text import visible

#: Filters whose values are typed or chosen from suggestions, and their maximum lengths.
TYPED = {"tool": 100, "agent": 100, "person": 150, "by": 300}


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    query: str
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A filter: `text` is its value, `clear` the query without it, `following` the query with its next value."""

    name: str
    label: str
    text: str = ""
    clear: str = ""
    options: Sequence[Option] = ()
    limit: int = 0
    value: str = ""
    #: The other filters, for a form that sets this one.
    kept: Sequence[tuple[str, str]] = ()
    following: str = ""
    #: Shown in place of the words.
    icon: str = ""


def chips_of(filters: Filters) -> list[Chip]:
    """Return the chips in the order of the page."""
    final = ((str(status), status.label) for status in Status if status in FINAL)
    statuses = [(OVER, _("Decided")), *final, (ANY, _("All"))]
    return [
        _choice(
            filters,
            "status",
            _("Status"),
            [("", _("Waiting")), *statuses],
            default=WAITING,
        ),
        _choice(filters, "kind", _("Kind"), Kind.choices),
        _choice(filters, "priority", _("Priority"), list(reversed(Priority.choices))),
        _typed(filters, "tool", _("Tool")),
        _typed(filters, "agent", _("Agent")),
        _typed(filters, "person", _("Requested by")),
        *(
            [_choice(filters, "deadline", _("Deadline"), DEADLINES.items())]
            if filters.waiting
            else []
        ),
        _dates(filters),
        *([] if filters.waiting else [_typed(filters, "by", _("Decided by"))]),
        *(
            [_choice(filters, "mine", _("Assigned"), [("1", _("to me"))])]
            if filters.mine
            else []
        ),
    ]


def order_chips(filters: Filters) -> list[Chip]:
    """Return the chips that sort and group the list."""
    labels = {"agent": _("Agent"), "tool": _("Tool"), "workflow": _("Workflow")}
    groups = [("", _("Nothing")), *((group, labels[group]) for group in GROUPS)]
    without = ("sort",) if filters.sort == BY_DEADLINE else ()
    chips = [
        _choice(filters, "group", _("Group by"), groups, without=without, icon="group")
    ]
    if filters.waiting:
        sorts = [
            ("", _("Urgency")),
            (BY_DEADLINE, _("Deadline")),
            (NEWEST, _("Newest first")),
            (OLDEST, _("Oldest first")),
        ]
        chips.insert(
            0,
            _choice(
                filters,
                "sort",
                _("Sort by"),
                sorts,
                without=("group",),
                icon="arrow-down-up",
            ),
        )
    return chips


def _choice(
    filters: Filters,
    name: str,
    label: str,
    choices: Iterable[tuple[str, Any]],
    *,
    default: str = "",
    without: tuple[str, ...] = (),
    icon: str = "",
) -> Chip:
    chosen = getattr(filters, name)
    value = "" if chosen == default else chosen
    start = filters.without(name, *without)
    options = [
        Option(
            str(text),
            f"{start}{name}={option}" if option else start.rstrip("&"),
            option == value,
        )
        for option, text in choices
    ]
    places = [number for number, each in enumerate(options) if each.current]
    following = options[(places[0] + 1) % len(options)] if places else options[0]
    return Chip(
        name=name,
        label=label,
        text=next((each.label for each in options if each.current), "")
        if value
        else "",
        clear=filters.without(name).rstrip("&"),
        options=options,
        following=following.query,
        icon=icon,
    )


def _typed(filters: Filters, name: str, label: str) -> Chip:
    value = getattr(filters, name)
    return Chip(
        name=name,
        label=label,
        text=visible(value),
        clear=filters.without(name).rstrip("&"),
        limit=TYPED[name],
        value=value,
        kept=kept_fields(filters, name),
    )


def _dates(filters: Filters) -> Chip:
    ages = _choice(
        filters, "age", _("Requested"), AGES.items(), without=("start", "end")
    )
    start, end = (
        date_format(date.fromisoformat(day), "SHORT_DATE_FORMAT") if day else ""
        for day in (filters.start, filters.end)
    )
    period = ages.text
    if start and end:
        period = _("%(start)s to %(end)s") % {"start": start, "end": end}
    elif start or end:
        period = (_("from %(day)s") if start else _("until %(day)s")) % {
            "day": start or end
        }
    return Chip(
        name="age",
        label=ages.label,
        text=period,
        clear=filters.without("age", "start", "end").rstrip("&"),
        options=ages.options,
        kept=kept_fields(filters, "age", "start", "end"),
    )


def kept_fields(filters: Filters, *left_out: str) -> list[tuple[str, str]]:
    """Return the other filters as the hidden fields of a form."""
    names = [
        field.name
        for field in fields(filters)
        if field.name not in {"after", *left_out}
    ]
    values = [(name, getattr(filters, name)) for name in names]
    return [
        (name, value)
        for name, value in values
        if value and (name, value) != ("status", WAITING)
    ]
