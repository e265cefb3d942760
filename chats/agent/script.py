"""Scripts for the scripted provider: its answers, step by step, when a sentence matches.

    Conversation(r"refund order (?P<order>\\d+)", [
        [Say("Let me see."), Use("issueRefund", {"orderId": "{order}", "amount": 50})],
        [Say("Done: {results[0]}")],
    ])

The first conversation whose pattern is found in the user's last message plays; case is ignored. Each inner list is one step,
which plays when all results of the previous step are there. In texts and inputs, `{name}` is a group of the pattern,
`{results[0]}` the first result of the previous step, and `{answers}` all of its results as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from approvals.json_types import JsonMapping


@dataclass(frozen=True, slots=True)
class Say:
    """Text, streamed word by word, with `pause` seconds between two words; None means the provider's pace."""

    text: str
    pause: float | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call. A whole-string `{name:number}` in the input becomes a number."""

    tool: str
    input: JsonMapping = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The steps to play when `pattern` is found. The turn ends after the last step."""

    pattern: str
    steps: Sequence[Sequence[Say | Use]]
    #: A sentence that starts it, for the help text.
    example: str = ""

    def match(self, text: str) -> dict[str, str] | None:
        """Return the groups of the pattern in `text`; None if it is not found."""
        match = re.search(self.pattern, text, re.IGNORECASE)
        return (
            {name: value or "" for name, value in match.groupdict().items()}
            if match
            else None
        )


def fill(template: Any, values: JsonMapping) -> Any:
    """Return a template with its `{placeholders}` replaced; unknown ones stay."""
    match template:
        case str():
            number = re.fullmatch(r"\{(\w+):number\}", template)
            if number:
                return _number(str(values.get(number[1], "0")))
            return re.sub(
                r"\{(\w+)(?:\[(\d+)\])?\}",
                lambda match: _value(match, values),
                template,
            )
        case Mapping():
            return {key: fill(item, values) for key, item in template.items()}
        case list() | tuple():
            return [fill(item, values) for item in template]
        case _:
            return template


def _value(match: re.Match[str], values: JsonMapping) -> str:
    name = match[1]
    index = match[2]
    if name not in values:
        return match[0]
    value = values[name]
    if index is not None:
        value = value[int(index)] if int(index) < len(value) else ""
    return str(value)


def _number(text: str) -> float | int:
    value = float(text.replace(",", "."))
    return int(value) if value.is_integer() else value
