"""Match the spelling of tool, agent and MCP server names in conditions, where CEL compares texts exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from approvals.text.names import fold

#: Facts that are names.
NAMES = ("tool", "agent", "server")
#: Text literals in a condition. Names contain no escapes.
_TEXTS = re.compile(r'"([^"\\]+)"|\'([^\'\\]+)\'')


def texts_in(condition: str) -> Sequence[str]:
    """Return the text literals in a condition, longest first."""
    texts = {double or single for double, single in _TEXTS.findall(condition)}
    return sorted(texts, key=lambda text: (-len(text), text))


def spelled_as(texts: Iterable[str], name: str) -> str:
    """Return a name with each part respelled like the one of these texts that equals it; longer texts take precedence.

    So `tool == "wire"` and `tool.startsWith("wi")` hold for `Wire`, and `tool != "wire"` does not.
    """
    canonical = fold(name)
    # Only in ASCII do a name and its canonical form have their letters at the same positions.
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
