"""Check Slack's signature: HMAC-SHA256 of version, time and the raw body."""

from __future__ import annotations

import hashlib
import hmac

#: Older and later calls are refused.
MAX_SECONDS = 300
#: A number of seconds in ten digits reaches to the year 2286.
MAX_DIGITS = 10


def is_signed(
    secret: str, signature: str, timestamp: str, body: bytes, now: float
) -> bool:
    """Return whether this signature is that of the body at this time, and recent."""
    if not (timestamp.isascii() and timestamp.isdigit()) or len(timestamp) > MAX_DIGITS:
        return False
    if abs(now - int(timestamp)) > MAX_SECONDS or not signature.isascii():
        return False
    signed = b"v0:" + timestamp.encode() + b":" + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"v0={expected}", signature)
