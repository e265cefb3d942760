"""Patterns in which `*` stands for any text. This is the only grammar of patterns in the product."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern. There is no escape: a `*` in the name of a tool is matched by `*` like any other text.

    Matching takes time linear in the text, whatever the pattern: nothing is tried twice.
    """

    text: str
    _parts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parts", tuple(self.text.split("*")))

    def fits(self, text: str) -> bool:
        """Return whether the pattern matches the whole text, exactly; fold both beforehand to compare names."""
        if len(self._parts) == 1:
            return text == self.text
        first, *middle, last = self._parts
        if (
            not text.startswith(first)
            or len(text) < len(first) + len(last)
            or not text.endswith(last)
        ):
            return False
        # The first match is as good as any later one.
        place = len(first)
        end = len(text) - len(last)
        for part in middle:
            index = text.find(part, place, end)
            if index < 0:
                return False
            place = index + len(part)
        return True
