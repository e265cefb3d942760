"""Characters that nobody sees, or that turn round what is read: shown by their numbers, so that what a person approves is
what stands there (Unicode Technical Report 36, "Bidirectional Text Spoofing").
"""

from __future__ import annotations

import json
import re

#: Controls, direction overrides, embeddings and isolates, widths of nothing, and tags. Marks that texts written from right to
#: left need, and the joiners of scripts and emoji, are none of them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with every such character as `⟨U+202E⟩`."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def visible_json(text: str) -> str:
    """JSON with every such character escaped: the same value, in other bytes."""
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], text)
