"""The text of API keys: `pp_`, a prefix, `_`, a secret, and a checksum, so that scanners recognize keys without asking."""

from __future__ import annotations

import re
import secrets
import string
from zlib import crc32

_ALPHABET = string.ascii_letters + string.digits
#: Characters of a secret: 256 random bits.
_LENGTH = 43
_KEY = re.compile(
    r"(?P<start>pp_(?P<prefix>[0-9a-f]{8})_[0-9A-Za-z]{43})(?P<checksum>[0-9a-f]{8})"
)


def new_text() -> str:
    """Return the text of a new key."""
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return text_of(secrets.token_hex(4), secret)


def text_of(prefix: str, secret: str) -> str:
    """Return the text of a key with this prefix and secret."""
    start = f"pp_{prefix}_{secret}"
    return f"{start}{_checksum(start)}"


def prefix_in(text: str) -> str | None:
    """Return the prefix of a key's text; None for any other text, which is never looked up."""
    match = _KEY.fullmatch(text)
    if match is None or match["checksum"] != _checksum(match["start"]):
        return None
    return match["prefix"]


def _checksum(start: str) -> str:
    return f"{crc32(start.encode()):08x}"
