"""Patterns in which `*` stands for any text. This is the only grammar of patterns in the product."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern. There is no escape: a `*` in the name of a tool is matched by `*` like any other text.

    Matching takes time linear in the text, whatever the pattern: nothing is tried twice.
    """

    text: str
    _parts: tuple[str, ...] = field(init=False)

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


def plain_test(pattern: str) -> tuple[str, str]:
    """Return the test that a pattern stands for, as people call it, with its text: `contains`, `ends_with` or `like`."""
    star, *texts = pattern.split("*")
    match texts:
        case [text] if text and not star:
            return "ends_with", text
        case [text, ""] if text and not star:
            return "contains", text
    return "like", pattern


def pattern_of(test: str, text: str) -> str:
    """Return the pattern for a test with its text, as in `plain_test`."""
    patterns = {"contains": f"*{text}*", "ends_with": f"*{text}"}
    return patterns.get(test, text)
