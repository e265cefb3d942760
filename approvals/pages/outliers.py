"""Outliers among several requests: a number far from the others, or another currency."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from approvals.text.currencies import are_currencies, currency_code
from approvals.text.identifiers import names_identifier
from approvals.text.numbers import grouped, number_in
from approvals.text.secrets import Hidden, comparable
from approvals.text.text import visible

#: With fewer numbers, none counts as far.
FEWEST = 3
#: A number is far if its distance from the median is this many times the usual one, and it is this many times larger or smaller.
SPREADS = 10
TIMES = 3
#: How many characters of a currency are shown.
MAX_CURRENCY = 20
#: The masked values of an input by place.
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outlier:
    """Why a request differs from the others: the place of the value, and the reason in words."""

    place: str
    reason: str


def currencies_of(
    inputs: Sequence[Values], schemas: Sequence[Mapping[str, str]]
) -> list[str]:
    """Return the currencies in each input as text; empty if there are none. `schemas` has those of the schemas."""
    places = dict.fromkeys(place for values in inputs for place in values)
    named = [
        place
        for place in places
        if are_currencies(
            place.rpartition(".")[2],
            [values[place] for values in inputs if place in values],
        )
    ]
    numbers: dict[str, int] = {}
    return [
        ", ".join(
            dict.fromkeys(
                [
                    *(
                        _code(values[place], numbers)
                        for place in named
                        if place in values
                    ),
                    *units.values(),
                ]
            )
        )
        for values, units in zip(inputs, schemas, strict=True)
    ]


def _code(value: str, numbers: dict[str, int]) -> str:
    """Return a currency for display. Hidden and long ones are distinguished by `numbers`, to which this adds."""
    if isinstance(value, Hidden):
        return f"{value} ({numbers.setdefault(comparable(value), len(numbers) + 1)})"
    if len(value) > MAX_CURRENCY:
        return f"{visible(value[:MAX_CURRENCY])}… ({numbers.setdefault(json.dumps(value), len(numbers) + 1)})"
    return visible(currency_code(value))


def outliers_among(
    inputs: Sequence[Values], currencies: Sequence[str]
) -> list[list[Outlier]]:
    """Return the outliers of each input. Numbers are compared among those with the same currencies."""
    outliers: list[list[Outlier]] = [[] for _values in inputs]
    for number, reason in _other_currency(currencies):
        outliers[number].append(Outlier("", reason))
    for currency in dict.fromkeys(currencies):
        alike = [number for number, other in enumerate(currencies) if other == currency]
        places = dict.fromkeys(place for number in alike for place in inputs[number])
        for place in places:
            if names_identifier(place.rpartition(".")[2]):
                continue
            for number, outlier in _far_numbers(
                place, {number: inputs[number] for number in alike}
            ):
                outliers[number].append(outlier)
    return outliers


def _other_currency(currencies: Sequence[str]) -> list[tuple[int, str]]:
    usual, count = Counter(currencies).most_common(1)[0]
    if count * 2 <= len(currencies):
        return []
    words = _("another currency: %(currency)s, where most have %(usual)s")
    none = _("none")
    return [
        (number, words % {"currency": currency or none, "usual": usual or none})
        for number, currency in enumerate(currencies)
        if currency != usual
    ]


def _far_numbers(place: str, inputs: Mapping[int, Values]) -> list[tuple[int, Outlier]]:
    numbers: dict[int, Decimal] = {}
    for at, values in inputs.items():
        number = number_in(values.get(place))
        if number is not None:
            numbers[at] = number
    if len(numbers) < FEWEST:
        return []
    middle = median(numbers.values())
    spread = median(abs(number - middle) for number in numbers.values())
    words = _("%(name)s is %(value)s, far from the others (median %(middle)s)")
    return [
        (
            at,
            Outlier(
                place,
                words
                % {"name": place, "value": grouped(number), "middle": grouped(middle)},
            ),
        )
        for at, number in numbers.items()
        if abs(number - middle) > SPREADS * spread and _is_of_other_size(number, middle)
    ]


def _is_of_other_size(number: Decimal, middle: Decimal) -> bool:
    if number * middle <= 0:
        return True
    return abs(number) >= TIMES * abs(middle) or abs(number) * TIMES <= abs(middle)
