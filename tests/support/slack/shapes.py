"""Checks of JSON that Slack's documentation describes, put together like the tables there; messages read as Slack's do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Takes a value and its JSON pointer; yields what is wrong with it.
Check = Callable[[Any, str], Iterator[str]]


def error(message: str, pointer: str) -> str:
    return f"[ERROR] {message} [json-pointer:{pointer or '/'}]"


def string(most: int, least: int = 1, pattern: str = "") -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield error("must be a string", pointer)
        elif len(value) < least:
            yield error(f"must be more than {least - 1} characters", pointer)
        elif len(value) > most:
            yield error(f"must be less than {most + 1} characters", pointer)
        elif pattern and not re.fullmatch(pattern, value):
            yield error(f"failed to match the pattern {pattern}", pointer)

    return check


def boolean(value: Any, pointer: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield error("must be a boolean", pointer)


def integer(least: int, most: int) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int):
            yield error("must be an integer", pointer)
        elif not least <= value <= most:
            yield error(f"must be between {least} and {most}", pointer)

    return check


def one_of(*values: str) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if value not in values:
            yield error(f"value must be one of {', '.join(values)}", pointer)

    return check


def array(item: Check, most: int, least: int = 1) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield error("must be an array", pointer)
            return
        if len(value) < least:
            yield error(f"no fewer than {least} items allowed", pointer)
        if len(value) > most:
            yield error(f"no more than {most} items allowed", pointer)
        for index, each in enumerate(value):
            yield from item(each, f"{pointer}/{index}")

    return check


@dataclass(frozen=True)
class Shape:
    """An object with these members and no others."""

    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield error("must be an object", pointer)
            return
        for name in self.required.keys() - value.keys():
            yield error(f"missing required field: {name}", pointer)
        for name, member in value.items():
            check = self.required.get(name) or self.optional.get(name)
            if check is None:
                yield error(f"invalid additional property: {name}", pointer)
            else:
                yield from check(member, f"{pointer}/{name}")


def text(most: int, *kinds: str) -> Check:
    """A text object of one of these kinds, or of either."""
    kinds = kinds or ("plain_text", "mrkdwn")
    return Shape(
        required={"type": one_of(*kinds), "text": string(most)},
        optional={"emoji": boolean, "verbatim": boolean},
    )


def plain(most: int) -> Check:
    return text(most, "plain_text")
