"""The filters of the inbox: parsed from its query string, and written back to one."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from urllib.parse import quote_plus, urlencode
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.db.cursors import Cursor
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.queries.search_words import check_search
from approvals.states import FINAL, Kind, Priority, Status

WAITING = str(Status.PENDING)
OVER = "decided"
ANY = "any"
STATUSES = (WAITING, OVER, *(str(status) for status in Status if status in FINAL), ANY)
GROUPS = ("agent", "tool", "workflow")
#: Orders of waiting requests; empty is by urgency.
BY_DEADLINE = "deadline"
NEWEST = "newest"
OLDEST = "oldest"
SORTS = (BY_DEADLINE, NEWEST, OLDEST)
#: `under-1h` means requested less than an hour ago, `over-1h` longer ago.
SPANS = {
    "1h": timedelta(hours=1),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
AGES = {
    "under-1h": gettext_lazy("under an hour"),
    "under-1d": gettext_lazy("under a day"),
    "under-7d": gettext_lazy("under a week"),
    "under-30d": gettext_lazy("under 30 days"),
    "over-1h": gettext_lazy("over an hour"),
    "over-1d": gettext_lazy("over a day"),
    "over-7d": gettext_lazy("over a week"),
    "over-30d": gettext_lazy("over 30 days"),
}
#: `1h` means that the deadline is at most an hour away.
NO_DEADLINE = "none"
DEADLINES = {
    "1h": gettext_lazy("within an hour"),
    "1d": gettext_lazy("within a day"),
    "7d": gettext_lazy("within a week"),
    NO_DEADLINE: gettext_lazy("no deadline"),
}


@dataclass(frozen=True, slots=True)
class ListCursor(Cursor):
    """The cursor of the inbox: by `group` ("" without groups), then by `rank`, `at` and id.

    `rank` is the urgency, the number of a part of the list, or 0. `at` is the creation, change, decision or due time.
    """

    rank: int
    at: datetime
    pk: UUID
    group: str = ""

    def __post_init__(self) -> None:
        if self.rank > 3 or len(self.group) > 200:
            raise ValueError("not a row of the list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """One view of the inbox. An empty value does not filter.

    `person` requested, `by` decided, `mine` means assigned to the viewer, `start` and `end` are the first and last day (UTC) of
    the request, and `snoozed` shows the viewer's snoozed requests, which are hidden otherwise.
    """

    status: str = WAITING
    kind: str = ""
    priority: str = ""
    tool: str = ""
    agent: str = ""
    person: str = ""
    by: str = ""
    age: str = ""
    deadline: str = ""
    start: str = ""
    end: str = ""
    mine: str = ""
    snoozed: str = ""
    q: str = ""
    sort: str = ""
    group: str = ""
    after: ListCursor | None = None

    @property
    def waiting(self) -> bool:
        return self.status == WAITING

    @property
    def query(self) -> str:
        """The query string of this view, without defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        query = {
            name: str(value)
            for name, value in values.items()
            if value and (name, value) != ("status", WAITING)
        }
        return f"?{urlencode(query)}" if query else "?"

    @property
    def narrowed(self) -> bool:
        """Whether any filter other than the status is set."""
        return replace(self, status=WAITING, sort="", group="", after=None) != Filters()

    @property
    def plain(self) -> bool:
        """Whether this is the inbox without filters, on any page and in any order."""
        return self.waiting and not self.narrowed

    @property
    def sectioned(self) -> bool:
        """Whether the list has sections: waiting requests by urgency."""
        return self.waiting and not (self.group or self.sort or self.snoozed)

    def without(self, *names: str) -> str:
        """Return the query string of the first page without these filters, ending with `?` or `&` to append another one."""
        kept = replace(
            self, after=None, **{name: getattr(Filters(), name) for name in names}
        ).query
        return kept if kept == "?" else f"{kept}&"

    def with_value(self, name: str, value: str) -> str:
        """Return the query string of the first page with one filter set to a value."""
        return f"{self.without(name)}{name}={quote_plus(value)}"

    def at(self, cursor: ListCursor | None) -> Filters:
        """Return the same view at the page after a cursor; None means the first page."""
        return replace(self, after=cursor)


def one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    """Return a check of a filter: it returns "" for an allowed value, otherwise the error in words."""

    def check(value: str) -> str:
        return (
            ""
            if value in allowed
            else _("must be one of: %(words)s") % {"words": ", ".join(allowed)}
        )

    return check


def at_most(limit: int) -> Callable[[str], str]:
    """Return a check of a filter: it returns "" for a value of at most `limit` characters, otherwise the error in words."""

    def check(value: str) -> str:
        return (
            ""
            if len(value) <= limit
            else _("is longer than %(limit)d characters") % {"limit": limit}
        )

    return check


def _day(value: str) -> str:
    try:
        date.fromisoformat(value)
    except ValueError:
        return _("is not a date like 2026-11-23")
    return "" if len(value) == 10 else _("is not a date like 2026-11-23")


CHECKS: dict[str, Callable[[str], str]] = {
    "status": one_of(STATUSES),
    "kind": one_of(tuple(Kind.values)),
    "priority": one_of(tuple(Priority.values)),
    "tool": at_most(100),
    "agent": at_most(100),
    "person": at_most(150),
    "by": at_most(MAX_ACTOR_NAME),
    "age": one_of(tuple(AGES)),
    "deadline": one_of(tuple(DEADLINES)),
    "start": _day,
    "end": _day,
    "mine": one_of(("1",)),
    "snoozed": one_of(("1",)),
    "q": check_search,
    "sort": one_of(SORTS),
    "group": one_of(GROUPS),
    "after": lambda value: (
        "" if ListCursor.parse(value) else _("is not a cursor of this list")
    ),
}


def filters_from(query: QueryDict) -> Filters:
    """Return the filters in a query string. Raise Invalid, with an error for each invalid parameter."""
    values, errors = _read(query)
    if errors:
        raise Invalid(
            _("This URL has invalid filters, so the list shows nothing."), errors
        )
    return _build(values)


def valid_filters_in(query: QueryDict) -> Filters:
    """Return the valid filters of a query string that `filters_from` rejects, for display in the form."""
    values, _errors = _read(query)
    return _build(values)


def _build(values: JsonDict) -> Filters:
    return Filters(**{**values, "after": ListCursor.parse(values.get("after", ""))})


def read_checked(
    query: QueryDict,
    checks: Mapping[str, Callable[[str], str]],
    *,
    unstripped: Container[str] = (),
) -> tuple[JsonDict, dict[str, str]]:
    """Return the parameters that pass their checks, and the errors by parameter.

    Surrounding spaces are removed, except for parameters in `unstripped`.
    """
    parameters: JsonDict = {}
    errors: dict[str, str] = {}
    for name, values in query.lists():
        value = values[-1] if name in unstripped else values[-1].strip()
        if name not in checks:
            errors[name[:40]] = _("is unknown")
        elif len(values) != 1:
            errors[name] = _("is given more than once")
        elif "\x00" in value:
            errors[name] = _("contains a character that cannot be shown")
        elif value and (problem := checks[name](value)):
            errors[name] = problem
        elif value:
            parameters[name] = value
    return parameters, errors


def _read(query: QueryDict) -> tuple[JsonDict, dict[str, str]]:
    """Return the valid parameters, and the errors by parameter."""
    parameters, errors = read_checked(query, CHECKS, unstripped={"after"})
    if "by" in parameters and parameters.setdefault("status", OVER) == WAITING:
        errors["by"] = _("only applies to decided requests; choose another status")
    for name in ("deadline", "snoozed"):
        if name in parameters and parameters.get("status", WAITING) != WAITING:
            errors[name] = _("only applies to waiting requests; remove the status")
    if parameters.get("sort") == BY_DEADLINE and "group" in parameters:
        errors["sort"] = _("cannot be combined with groups; remove one of them")
    return parameters, errors
