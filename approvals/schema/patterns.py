"""Patterns of clients' schemas, which RE2 matches in linear time and bounded memory."""

from __future__ import annotations

import functools
import re
from typing import Any

import re2
from django.utils.translation import gettext as _

#: Memory of one compiled pattern; RE2 refuses a pattern that needs more.
PATTERN_BYTES = 256 * 1024
#: RE2's `\\C`, one byte of UTF-8, which ECMA 262 does not have.
_BYTE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Compile a pattern with RE2. ValueError, with a message for the client."""
    if _BYTE.search(pattern):
        raise ValueError(
            _("has the pattern %(pattern)r, which is not supported: \\C matches part of a character")
            % {"pattern": pattern[:100]}
        )
    options = re2.Options()
    options.max_mem, options.log_errors = PATTERN_BYTES, False
    # ECMA 262 writes a code point as `\\u0041`, RE2 as `\\x{0041}`.
    text = re.sub(r"((?:^|[^\\])(?:\\\\)*)\\u([0-9a-fA-F]{4})", r"\1\\x{\2}", pattern)
    try:
        return re2.compile(text, options)
    except re2.error as error:
        (reason,) = error.args
        explanation = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(
            _(
                "has the pattern %(pattern)r, which is not supported (%(words)s): "
                "look-around, back-references and very large repetitions cannot be used"
            )
            % {"pattern": pattern[:100], "words": explanation[:100]}
        ) from error
