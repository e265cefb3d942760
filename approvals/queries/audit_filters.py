"""The filters of the audit page at `/audit/`: parsed from its query string, and written back to one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.db.cursors import Cursor, number_from
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.queries.filters import at_most, one_of, read_checked
from approvals.queries.search_words import check_search
from approvals.record.amounts import DECIMAL
from approvals.record.events import EVENTS
from approvals.states import Verdict
from approvals.text.numbers import AmbiguousNumber, as_typed, typed_number

AMOUNTS = frozenset({"amount_from", "amount_to"})
#: Decimals that look like a group of thousands in some languages.
_THREE_DECIMALS = re.compile(r"^-?[0-9]{1,3}\.[0-9]{3}$")


@dataclass(frozen=True, slots=True)
class AuditCursor(Cursor):
    """The cursor of the audit page: the time and id of an entry."""

    at: datetime
    pk: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilters:
    """One view of the audit log. An empty value does not filter.

    `since` and `until` are days, `amount_from` and `amount_to` decimal numbers with a point; both ends are included. `run` is the
    key of a workflow, `workflow` its number, and `person` a recorded name.
    """

    q: str = ""
    event: str = ""
    verdict: str = ""
    person: str = ""
    tool: str = ""
    amount_from: str = ""
    amount_to: str = ""
    since: str = ""
    until: str = ""
    request: str = ""
    workflow: str = ""
    run: str = ""
    chat: str = ""
    after: AuditCursor | None = None

    @property
    def query(self) -> str:
        """The query string of this view."""
        parameters = self.parameters
        return f"?{urlencode(parameters)}" if parameters else "?"

    @property
    def parameters(self) -> dict[str, str]:
        """The set parameters of this view, in the order of the form."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) for name, value in values.items() if value}

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return self.at(None) != AuditFilters()

    def at(self, cursor: AuditCursor | None) -> AuditFilters:
        """Return the same view at the page after a cursor; None means the first page."""
        return replace(self, after=cursor)

    def without(self, name: str) -> AuditFilters:
        """Return the first page of the same view without one filter."""
        return replace(self.at(None), **{name: ""})  # type: ignore[arg-type]  # the name of a filter

    @property
    def amounts(self) -> list[tuple[str, float]]:
        """The bounds of the amount, as (operator, number)."""
        bounds = ((">=", self.amount_from), ("<=", self.amount_to))
        return [(sign, float(bound)) for sign, bound in bounds if bound]

    @property
    def typed_amounts(self) -> dict[str, str]:
        """The amounts as a person would type them on this page, by parameter."""
        return {name: as_typed(getattr(self, name)) for name in AMOUNTS}

    @property
    def begin(self) -> datetime | None:
        """The first moment of the first day, in the time zone of the site."""
        return _midnight(date.fromisoformat(self.since)) if self.since else None

    @property
    def end(self) -> datetime | None:
        """The first moment after the last day."""
        return (
            _midnight(date.fromisoformat(self.until) + timedelta(days=1))
            if self.until
            else None
        )


def _midnight(day: date) -> datetime:
    return datetime(
        day.year, day.month, day.day, tzinfo=timezone.get_default_timezone()
    )


def _day(value: str) -> str:
    try:
        # Such days occur in no log, and near the limits of a date some time zones have no midnight.
        sensible = 1970 <= date.fromisoformat(value).year <= 9000 and len(value) == 10
    except ValueError:
        sensible = False
    return "" if sensible else _("must be a date like 2026-11-21")


def _amount(value: str) -> str:
    try:
        number = typed_number(value)
    except AmbiguousNumber:
        return _("is ambiguous; write it without a thousands separator")
    if number is None or not DECIMAL.fullmatch(number):
        return _("must be a number like 120 or %(example)s") % {
            "example": as_typed("99.50")
        }
    return ""


def _in_addresses(number: str) -> str:
    """Return a number for an address, unambiguous in every language: `12.3450` for 12.345."""
    return f"{number}0" if _THREE_DECIMALS.search(number) else number


def _request_id(value: str) -> str:
    try:
        UUID(value)
    except ValueError:
        return _("must be the id of a request")
    return ""


CHECKS: dict[str, Callable[[str], str]] = {
    "q": check_search,
    "event": one_of(EVENTS),
    "verdict": one_of(tuple(Verdict.values)),
    "person": at_most(MAX_ACTOR_NAME),
    "tool": at_most(100),
    "amount_from": _amount,
    "amount_to": _amount,
    "since": _day,
    "until": _day,
    "request": _request_id,
    "workflow": lambda value: (
        _("must be the number of a workflow") if number_from(value) is None else ""
    ),
    "run": at_most(200),
    "chat": at_most(200),
    "after": lambda value: (
        "" if AuditCursor.parse(value) else _("is not a cursor of this list")
    ),
}


def audit_filters_from(query: QueryDict) -> AuditFilters:
    """Return the filters in a query string. Raise Invalid, with an error for each invalid parameter."""
    values, errors = _read(query)
    if errors:
        raise Invalid(
            _("This URL has invalid filters, so the list shows nothing."), errors
        )
    return _build(values)


def valid_audit_filters_in(query: QueryDict) -> AuditFilters:
    """Return the valid filters of a query string that `audit_filters_from` rejects, for display in the form."""
    return _build(_read(query)[0])


def _build(values: JsonDict) -> AuditFilters:
    return AuditFilters(
        **{**values, "after": AuditCursor.parse(values.get("after", ""))}
    )


def _read(query: QueryDict) -> tuple[JsonDict, dict[str, str]]:
    """Return the valid parameters, and the errors by parameter."""
    values, errors = read_checked(query, CHECKS)
    for name in AMOUNTS & values.keys():
        values[name] = _in_addresses(typed_number(values[name]) or "")
    if values.get("since", "") > values.get("until", "9999"):
        errors["until"] = _("must not be before the first day")
    if values.keys() >= AMOUNTS and float(values["amount_from"]) > float(
        values["amount_to"]
    ):
        errors["amount_to"] = _("must not be less than the lowest amount")
    return values, errors
