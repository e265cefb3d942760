"""Patterns in clients' schemas, matched by RE2 in linear time and bounded memory.

RE2 has no look-around. Look-ahead at the very beginning, as in `^(?!\\.)`, becomes a separate pattern; schema generators use it
for decimals and email addresses. Patterns with look-around elsewhere are not checked.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

#: Memory limit of one compiled pattern; RE2 refuses a pattern that needs more.
PATTERN_BYTES = 256 * 1024
#: RE2's `\\C`, one byte of UTF-8, which ECMA 262 does not have.
_BYTE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\C")
_LOOK_AROUND = re.compile(r"((?:^|[^\\])(?:\\\\)*)\(\?(?:<?[=!])")
#: Tokens that matter for finding the end of a group: escapes, classes, parentheses and alternatives.
_TOKEN = re.compile(r"\\.|\[\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern in the form that RE2 checks: the `whole`, and patterns that must, or must `not`, match at the beginning.

    Nothing is checked if `whole` is None.
    """

    whole: Any
    follows: Sequence[Any] = ()
    not_follows: Sequence[Any] = ()

    @property
    def is_checked(self) -> bool:
        return self.whole is not None

    @property
    def size(self) -> int:
        """The size of the compiled patterns in RE2 instructions."""
        return sum(
            each.programsize
            for each in (self.whole, *self.follows, *self.not_follows)
            if each is not None
        )

    def matches(self, text: str) -> bool:
        """Return whether the pattern is found in the text; True if it is not checked."""
        return (
            (self.whole is None or self.whole.search(text) is not None)
            and all(each.search(text) is not None for each in self.follows)
            and all(each.search(text) is None for each in self.not_follows)
        )


@functools.lru_cache(maxsize=256)
def pattern_of(text: str) -> Pattern:
    """Return a pattern for checking. Raise ValueError, with a message for the client, if RE2 lacks more than its look-around."""
    if not _LOOK_AROUND.search(text):
        return Pattern(compiled(text))
    # Even an unchecked pattern has to be valid.
    compiled(_LOOK_AROUND.sub(r"\1(?:", text))
    ahead, rest = _look_aheads(text)
    if (
        _LOOK_AROUND.search(rest)
        or any(_LOOK_AROUND.search(body) for _sign, body in ahead)
        # A look-ahead at the beginning applies only to the first of several alternatives.
        or _find(rest, "|") < len(rest)
    ):
        return Pattern(None)
    sides = {
        sign: [compiled(f"^(?:{body})") for each, body in ahead if each == sign]
        for sign in "=!"
    }
    return Pattern(compiled(rest), sides["="], sides["!"])


def _look_aheads(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the look-aheads at the beginning of a pattern, each with its sign, and the rest of the pattern."""
    ahead: list[tuple[str, str]] = []
    if not text.startswith("^"):
        return ahead, text
    at = 1
    while text[at : at + 3] in ("(?=", "(?!"):
        end = _find(text, ")", at)
        ahead.append((text[at + 2], text[at + 3 : end]))
        at = end + 1
    return ahead, f"^{text[at:]}"


def _find(text: str, wanted: str, begin: int = 0) -> int:
    """Return the place of a token outside all groups, or that ends the first one; the end of the text without one."""
    depth = 0
    for token in _TOKEN.finditer(text, begin):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0 and token[0] == wanted:
            return token.start()
    return len(text)


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """Compile a pattern with RE2. Raise ValueError, with a message for the client."""
    import re2  # noqa: PLC0415 - loaded late

    if _BYTE.search(pattern):
        raise ValueError(
            _(
                "has the pattern %(pattern)r, which is not supported: \\C matches part of a character"
            )
            % {"pattern": pattern[:100]}
        )
    options = re2.Options()
    options.max_mem = PATTERN_BYTES
    options.log_errors = False
    # ECMA 262 writes a code point as `\\u0041`, RE2 as `\\x{0041}`.
    text = re.sub(r"((?:^|[^\\])(?:\\\\)*)\\u([0-9a-fA-F]{4})", r"\1\\x{\2}", pattern)
    try:
        return re2.compile(text, options)
    except re2.error as error:
        (reason,) = error.args
        explanation = (
            reason.decode(errors="replace")
            if isinstance(reason, bytes)
            else str(reason)
        )
        raise ValueError(
            _(
                "has the pattern %(pattern)r, which is not supported (%(words)s): "
                "look-around in this place, back-references and very large repetitions cannot be used"
            )
            % {"pattern": pattern[:100], "words": explanation[:100]}
        ) from error
