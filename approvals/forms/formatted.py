"""Values as people write them, where their schema says what they are: dates, times, durations and amounts of money.

Nothing is rounded or left out, and the value itself stays beside it: what is approved is what was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
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
from approvals.schema.formats import CURRENCY, currency_of, matches_format
from approvals.schema.references import NoTarget, follow_references
from approvals.text.tables import Row, rows
from approvals.text.times import short_time

#: Schemas that are looked at for one table.
MAX_SCHEMAS = 500
#: Currencies without a smaller unit.
WHOLE = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"}
)
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,14})(\.\d{1,9})?", re.ASCII)
_CODE = re.compile(r"[A-Z]{3}", re.ASCII)
_DURATION = re.compile(r"P(?:(\d{1,6})W|(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?)", re.ASCII)
_TIME = re.compile(r"(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def formatted(table: Sequence[Row], value: Any, schema: Mapping[str, Any] | None) -> list[Row]:
    """Return the rows of a value, with the words for what its schema describes."""
    if schema is None:
        return list(table)
    return _below(table, value, schema, schema, iter(range(MAX_SCHEMAS)))


def words_at(value: Any, schema: Mapping[str, Any] | None, parts: Sequence[str]) -> SafeString | None:
    """Return the words for what the parts of a JSON pointer lead to in a masked value; None where there are none for it."""
    root, below = schema or {}, schema
    try:
        for part in parts:
            below = _member(follow_references(below, root), part, value)
            value = value_behind(value, [part])
        below = follow_references(below, root)
    except NoTarget:
        return None
    if value is ABSENT or not isinstance(below, Mapping):
        return None
    if isinstance(value, dict) and below.get("format") == "money" and value.keys() == {"amount", "currency"}:
        # An amount with nothing but its currency fits in one line.
        below, value = {CURRENCY: value["currency"]}, value["amount"]
    [row] = rows({parts[-1] if parts else "": value})
    return in_words(_row(row, value, below, root, iter(range(1))))


def _member(schema: Any, name: str, value: Any) -> Any:
    """Return the schema of what a part of a pointer leads to in a value."""
    if not isinstance(schema, Mapping):
        return None
    if isinstance(value, dict):
        return _with_currency(schema.get("properties", {}).get(name), name, value, schema)
    return schema.get("items")


def in_words(row: Row) -> SafeString | None:
    """Return what a row shows in the words of people, with the exact value in its title; None if it has none.

    `static/pausepoint/times.js` puts a time into the reader's zone.
    """
    if row.moment:
        time = '<time datetime="{}" data-exact="{}" title="{}">{}</time>'
        return format_html(time, row.moment, row.zone, row.value, row.shown)
    return format_html('<data value="{0}" title="{0}">{1}</data>', row.value, row.shown) if row.shown else None


def _below(table: Sequence[Row], value: Any, schema: Any, root: Mapping[str, Any], budget: Iterator[int]) -> list[Row]:
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return list(table)
    items: list[tuple[Any, Any]] = []
    if isinstance(schema, Mapping) and isinstance(value, dict):
        known = schema.get("properties", {})
        items = [(_with_currency(known.get(name), name, value, schema), item) for name, item in value.items()]
    elif isinstance(schema, Mapping) and isinstance(value, list):
        items = [(schema.get("items"), item) for item in value]
    pairs = zip(table, items, strict=False)
    return [*(_row(row, item, below, root, budget) for row, (below, item) in pairs), *table[len(items) :]]


def _with_currency(schema: Any, name: str, value: Mapping[str, Any], around: Mapping[str, Any]) -> Any:
    """Return the schema of a member; that of the amount of a `money` object has the currency beside it."""
    currency = value.get("currency")
    if around.get("format") == "money" and name == "amount" and isinstance(currency, str):
        return {**(schema if isinstance(schema, Mapping) else {}), CURRENCY: str(currency)}
    return schema


def _row(row: Row, value: Any, schema: Any, root: Mapping[str, Any], budget: Iterator[int]) -> Row:
    if not isinstance(schema, Mapping) or next(budget, None) is None:
        return row
    if row.rows:
        children = _below([*row.rows, *row.more], value, schema, root, budget)
        return replace(row, rows=children[: len(row.rows)], more=children[len(row.rows) :])
    if row.block or row.empty or row.secret or row.hidden or row.note:
        return row
    try:
        schema = follow_references(schema, root)
    except NoTarget:
        return row
    return _leaf(row, value, schema) if isinstance(schema, Mapping) else row


def _leaf(row: Row, value: Any, schema: Mapping[str, Any]) -> Row:
    if currency := currency_of(schema):
        return replace(row, shown=_money(value, currency))
    if not isinstance(value, str):
        return row
    match schema.get("format"):
        case "date" if matches_format("date", value):
            return replace(row, shown=date_format(date.fromisoformat(value), "DATE_FORMAT"))
        case "date-time" if matches_format("date-time", value):
            return _moment(row, value)
        case "time" if match := _TIME.fullmatch(value):
            zone = {None: "", "Z": " UTC"}.get(match[4], f" UTC{match[4]}")
            seconds = (match[2] or "") + (match[3] or "")
            return replace(row, shown=f"{match[1]}{'' if seconds.strip(':0.') == '' else seconds}{zone}")
        case "duration":
            return replace(row, shown=_duration(value))
    return row


def _moment(row: Row, value: str) -> Row:
    try:
        when = datetime.fromisoformat(value.upper()).astimezone(timezone.get_current_timezone())
    except (ValueError, OverflowError):
        # A leap second, or a fraction that Python cannot keep.
        return row
    if when.microsecond:
        return row
    zone = timezone.get_current_timezone_name()
    return replace(row, shown=f"{short_time(when, exact=True)} ({zone})", moment=when.isoformat(), zone=zone)


def _duration(value: str) -> str:
    match = _DURATION.fullmatch(value)
    if match is None or not any(match.groups()):
        return ""
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    words = [
        ngettext("%(count)s week", "%(count)s weeks", weeks) % {"count": weeks} if weeks else "",
        ngettext("%(count)s day", "%(count)s days", days) % {"count": days} if days else "",
        ngettext("%(count)s hour", "%(count)s hours", hours) % {"count": hours} if hours else "",
        ngettext("%(count)s minute", "%(count)s minutes", minutes) % {"count": minutes} if minutes else "",
        ngettext("%(count)s second", "%(count)s seconds", seconds) % {"count": seconds} if seconds else "",
    ]
    return " ".join(filter(None, words))


def _money(value: Any, currency: str) -> str:
    """Return an amount with its currency; empty if it is none, or if a form of its number would not be exact."""
    text = json.dumps(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text) or not _CODE.fullmatch(currency):
        return ""
    digits = len(text.partition(".")[2])
    least = 0 if currency in WHOLE else 2
    return f"{number_format(Decimal(text), max(digits, least), use_l10n=True, force_grouping=True)} {currency}"
