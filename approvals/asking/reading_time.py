"""Count the words that a person reads before deciding. Imports nothing of this project."""

from __future__ import annotations

import re
from typing import Any

#: The speed of a fast reader.
WORDS_PER_SECOND = 4

_word = re.compile(r"\w+(?:[.,:'-]\w+)*")


def words_to_read(*texts: Any) -> int:
    """Return the number of words in texts and JSON values; names of members count, since they are shown."""
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
