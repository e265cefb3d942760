"""The names of tools, agents and MCP servers in conditions, which compare texts exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from approvals.text.canonical_names import fold

#: The names among the facts of a condition.
NAMES = ("tool", "agent", "server")
#: The texts in a condition. One with an escape is no name.
_TEXTS = re.compile(r'"([^"\\]+)"|\'([^\'\\]+)\'')


def texts_in(condition: str) -> Sequence[str]:
    """Return the texts in a condition, the longest first."""
    texts = {double or single for double, single in _TEXTS.findall(condition)}
    return sorted(texts, key=lambda text: (-len(text), text))


def spelled_as(texts: Iterable[str], name: str) -> str:
    """Return a name with each part that one of these texts names in the spelling of that text; the longest text comes first.

    So `tool == "wire"` and `tool.startsWith("wi")` hold for `Wire`, and `tool != "wire"` does not.
    """
    canonical = fold(name)
    # Only of ASCII are the letters of a name and of its canonical form at the same places.
    letters = list(name if name.isascii() else canonical)
    free = [True] * len(letters)
    for text in texts:
        wanted = fold(text)
        if wanted == canonical:
            return text
        if len(wanted) != len(text):
            continue
        start = canonical.find(wanted)
        while start >= 0:
            part = slice(start, start + len(wanted))
            if all(free[part]):
                letters[part], free[part] = text, [False] * len(wanted)
            start = canonical.find(wanted, start + 1)
    return "".join(letters)
