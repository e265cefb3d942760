"""Format values for people: amounts of money and large numbers, and what the schema says are dates, times and durations.

Nothing is rounded or left out, and the value itself stays beside it, because exactly that is approved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from approvals.db.json_pointer import ABSENT, value_behind
from approvals.json_types import JsonMapping
from approvals.schema.keywords import (
    CURRENCY,
    NoTarget,
    currency_of,
    follow_references,
    matches_format,
)
from approvals.text import grids
from approvals.text.currencies import is_currency_code
from approvals.text.identifiers import counts_something
from approvals.text.numbers import number_in
from approvals.text.tables import TableRow, rows
from approvals.text.times import short_time

#: Maximum schemas examined for one table.
MAX_SCHEMAS = 500
#: From here on, numbers have separators.
LARGE = 10_000
#: The decimals of currencies (ISO 4217) that have another number of them than two.
_DECIMALS = {
    **dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    ),
    **dict.fromkeys(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"], 3),
}
#: In schemas, the currency beside an amount that no schema describes. No schema of a client can have it.
_BESIDE: Any = object()
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,14})(\.\d{1,9})?", re.ASCII)
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_DURATION = re.compile(
    r"P(?:(\d{1,6})W|(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?)",
    re.ASCII,
)
_TIME = re.compile(r"(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def formatted(
    table: Sequence[TableRow], value: Any, schema: JsonMapping | None
) -> list[TableRow]:
    """Return the rows of a value, with formatted text for large numbers and where the schema describes them."""
    root = schema or {}
    return _below(table, value, schema, root, iter(range(MAX_SCHEMAS)))


def row_at(
    value: Any, schema: JsonMapping | None, parts: Sequence[str]
) -> TableRow | None:
    """Return the formatted row of the value at the parts of a JSON pointer in a masked value; None if there is none."""
    root = schema or {}
    below = schema
    item = value_behind(value, [*parts])
    if is_in_currency(item) and len(item) == 2:
        # An amount with nothing but its currency fits on one line.
        parts = [*parts, "amount"]
    try:
        for part in parts:
            below = _member(follow_references(below, root), part, value)
            value = value_behind(value, [part])
    except NoTarget:
        return None
    if value is ABSENT:
        return None
    [row] = rows({parts[-1] if parts else "": value})
    return _row(row, value, below, root, iter(range(1)))


def formatted_member(row: TableRow, value: Any, beside: Any, currency: str) -> TableRow:
    """Return the row of a value with a path as its name, with formatted text.

    `beside` is the currency beside an amount, and `currency` that of its schema; empty without one.
    """
    schema = {CURRENCY: currency} if currency else {}
    # Its last name alone says whether it counts something.
    name = row.name.rpartition(".")[2]
    schema = _with_currency(schema, name, {name: value, "currency": beside}, {})
    budget = iter(range(MAX_SCHEMAS))
    formatted = _row(replace(row, name=name), value, schema, {}, budget)
    return replace(formatted, name=row.name)


def without_currency(table: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows of an object without the currency that stands with an amount."""
    shown = {row.currency for row in table}
    return [row for row in table if not repeats_currency(row.name, row.value, shown)]


def repeats_currency(name: str, value: Any, shown: Collection[str]) -> bool:
    """Return whether this member is a currency that is `shown` with an amount."""
    return name == "currency" and isinstance(value, str) and value in shown


def _member(schema: Any, name: str, value: Any) -> Any:
    """Return the schema of a member or item of a value."""
    described = schema if isinstance(schema, Mapping) else {}
    if isinstance(value, dict):
        of_member = described.get("properties", {}).get(name)
        return _with_currency(of_member, name, value, described)
    return described.get("items")


def in_words(row: TableRow) -> SafeString | None:
    """Return a row's formatted value, with the exact one in its title; None if it has none.

    `static/pausepoint/times.js` converts a time to the reader's zone.
    """
    if row.moment:
        time = '<time datetime="{}" data-exact="{}" title="{}">{}</time>'
        return format_html(time, row.moment, row.zone, row.value, row.shown)
    if not row.shown:
        return None
    beside = format_html(' data-view="{}"', row.beside) if row.beside else ""
    return format_html(
        '<data value="{0}" title="{0}"{1}>{2}</data>', row.value, beside, row.shown
    )


def _below(
    table: Sequence[TableRow],
    value: Any,
    schema: Any,
    root: JsonMapping,
    budget: Iterator[int],
) -> list[TableRow]:
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return list(table)
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = [(_member(schema, name, value), item) for name, item in value.items()]
    elif isinstance(value, list):
        items = [(_member(schema, "", value), item) for item in value]
    pairs = zip(table, items, strict=False)
    return [
        *(_row(row, item, below, root, budget) for row, (below, item) in pairs),
        *table[len(items) :],
    ]


def _with_currency(
    schema: Any, name: str, value: JsonMapping, around: JsonMapping
) -> Any:
    """Return the schema of a member; that of an amount includes the currency beside it."""
    currency = value.get("currency")
    if name != "amount" or not isinstance(currency, str):
        return schema
    described = schema if isinstance(schema, Mapping) else {}
    if around.get("format") == "money":
        return {**described, CURRENCY: currency}
    return {**described, _BESIDE: currency} if is_in_currency(value) else schema


def is_in_currency(value: Any) -> bool:
    """Return whether a value is an object with an amount beside a code that can only be that of a currency."""
    return (
        isinstance(value, dict)
        and number_in(value.get("amount")) is not None
        and is_currency_code(value.get("currency"))
    )


def _row(
    row: TableRow,
    value: Any,
    schema: Any,
    root: JsonMapping,
    budget: Iterator[int],
) -> TableRow:
    if next(budget, None) is None:
        return row
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return row
    if row.columns:
        return _grid(row, value, schema, root)
    if row.rows:
        children = _below([*row.rows, *row.more], value, schema, root, budget)
        count = len(row.rows)
        return replace(
            row,
            rows=without_currency(children[:count]),
            more=children[count:],
        )
    return _leaf(row, value, schema)


def _grid(row: TableRow, value: Any, schema: Any, root: JsonMapping) -> TableRow:
    """Return a table with formatted cells; the texts of CSV stay as they are."""
    if not isinstance(value, list):
        return row
    names = grids.columns_of(value)[: len(row.columns)]
    try:
        described = follow_references(_member(schema, "", value), root)
        members = {
            name: follow_references(_member(described, name, {}), root)
            for name in names
        }
    except NoTarget:
        return row
    items = iter(value)

    def formatted_line(line: TableRow) -> TableRow:
        if not line.cells:
            return line
        item = next(items)
        cells = {name: item.get(name) for name in names}
        budget = iter(range(len(names)))
        return replace(
            line, cells=_below(line.cells, cells, {"properties": members}, {}, budget)
        )

    rows, more = (list(map(formatted_line, lines)) for lines in (row.rows, row.more))
    return replace(row, rows=rows, more=more)


def _leaf(row: TableRow, value: Any, schema: Any) -> TableRow:
    if row.block or row.empty or row.secret or row.hidden or row.note:
        return row
    schema = schema if isinstance(schema, Mapping) else {}
    described = currency_of(schema)
    if currency := described or schema.get(_BESIDE):
        money = _money(value, currency, may_be_cents=not described)
        return replace(row, shown=money, currency=currency if money else "")
    if not isinstance(value, str):
        return replace(row, shown=_grouped(row.name, value))
    match schema.get("format"):
        case "date" if matches_format("date", value):
            return replace(
                row, shown=date_format(date.fromisoformat(value), "DATE_FORMAT")
            )
        case "date-time" if matches_format("date-time", value):
            return _moment(row, value)
        case "time" if match := _TIME.fullmatch(value):
            zone = {None: "", "Z": " UTC"}.get(match[4], f" UTC{match[4]}")
            seconds = (match[2] or "") + (match[3] or "")
            return replace(
                row,
                shown=f"{match[1]}{'' if seconds.strip(':0.') == '' else seconds}{zone}",
            )
        case "duration":
            return replace(row, shown=_duration(value))
    return row


def _moment(row: TableRow, value: str) -> TableRow:
    try:
        when = datetime.fromisoformat(value.upper()).astimezone(
            timezone.get_current_timezone()
        )
    except (ValueError, OverflowError):
        # A leap second, or a fraction that Python cannot represent.
        return row
    if when.microsecond:
        return row
    zone = timezone.get_current_timezone_name()
    return replace(
        row,
        shown=f"{short_time(when, exact=True)} ({zone})",
        moment=when.isoformat(),
        zone=zone,
    )


def _duration(value: str) -> str:
    match = _DURATION.fullmatch(value)
    if match is None or not any(match.groups()):
        return ""
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    words = [
        ngettext("%(count)s week", "%(count)s weeks", weeks) % {"count": weeks}
        if weeks
        else "",
        ngettext("%(count)s day", "%(count)s days", days) % {"count": days}
        if days
        else "",
        ngettext("%(count)s hour", "%(count)s hours", hours) % {"count": hours}
        if hours
        else "",
        ngettext("%(count)s minute", "%(count)s minutes", minutes) % {"count": minutes}
        if minutes
        else "",
        ngettext("%(count)s second", "%(count)s seconds", seconds) % {"count": seconds}
        if seconds
        else "",
    ]
    return " ".join(filter(None, words))


def _money(value: Any, currency: str, *, may_be_cents: bool) -> str:
    """Return an amount with its currency; empty if it is not an amount, or if formatting would not be exact.

    A whole amount that may be in cents gets no decimals, which would say that it is not.
    """
    text = _digits_of(value) if not isinstance(value, str) else value
    if not _AMOUNT.fullmatch(text) or not _CODE.fullmatch(currency):
        return ""
    whole, point, decimals = text.partition(".")
    # Zeros beyond the smaller unit of the currency say nothing.
    exact = f"{whole}{point}{decimals.rstrip('0')}"
    least = 0 if may_be_cents and not point else _DECIMALS.get(currency, 2)
    return f"{_number(exact, least=least)} {currency}"


def _grouped(name: str, value: Any) -> str:
    """Return a large number with separators; empty for others, and where its name says that it counts nothing."""
    text = _digits_of(value)
    if not _AMOUNT.fullmatch(text) or abs(value) < LARGE or not counts_something(name):
        return ""
    return _number(text, least=0)


def _digits_of(value: Any) -> str:
    """Return a number as it stands in JSON; empty for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value) if is_number else ""


def _number(text: str, *, least: int) -> str:
    """Return a number with separators, all its decimals and at least so many."""
    decimals = max(len(text.partition(".")[2]), least)
    return str(
        number_format(Decimal(text), decimals, use_l10n=True, force_grouping=True)
    )
