"""The canonical form of the names of tools, agents and MCP servers.

What a program says keeps its spelling where it is shown, returned and recorded. Whatever is compared is compared in this form.
"""

from __future__ import annotations

import unicodedata


def fold(name: str) -> str:
    """Return the canonical form of a name, which is equal for names that differ only in case or in how Unicode writes them.

    `Bash`, `BASH`, and the same in full-width letters, are one name. Letters that only look alike, such as a Cyrillic a, stay
    different.
    """
    if name.isascii():
        return name.lower()
    # As Unicode's toNFKC_Casefold, but for invisible characters: they stay, so a name with one is another name.
    composed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return unicodedata.normalize("NFKC", composed.casefold())
