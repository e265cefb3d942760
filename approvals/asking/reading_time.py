"""How much there is to read before one can decide. Imports nothing of ours."""

from __future__ import annotations

import re
from typing import Any

#: A quick reader of running text.
WORDS_PER_SECOND = 4

_word = re.compile(r"\w+(?:[.,:'-]\w+)*")


def words_to_read(*texts: Any) -> int:
    """Words in texts and in JSON values; the names of an object's members count, since they are shown."""
    count, left = 0, list(texts)
    while left:
        item = left.pop()
        match item:
            case str():
                count += len(_word.findall(item))
            case dict():
                left += [*item, *item.values()]
            case list() | tuple():
                left += item
            case None:
                continue
            case _:
                count += 1
    return count
