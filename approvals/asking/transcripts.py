"""The conversation before a request, stored with it: a limited number of messages `{"role", "text"}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.text.numbers import grouped

MAX_MESSAGES = 6
#: Limit on all texts together, in UTF-8.
MAX_TEXT_BYTES = 20_000
#: The server cuts longer messages, to leave room for several.
KEPT_CHARACTERS = 2_000
ROLES = ("user", "assistant", "system", "tool")
CUT = "[…]"


def problem(messages: Sequence[Any]) -> str:
    """Return why these messages cannot be stored, as the predicate of the field's name; empty if they can."""
    if len(messages) > MAX_MESSAGES:
        return _("has more than %(limit)s messages; send the last ones") % {
            "limit": MAX_MESSAGES
        }
    for message in messages:
        if not isinstance(message, Mapping) or set(message) != {"role", "text"}:
            return _("has an item that is not a {role, text} object")
        if message["role"] not in ROLES or not isinstance(message["text"], str):
            return _("every message must have a role (%(names)s) and text") % {
                "names": ", ".join(ROLES)
            }
    if sum(map(_size, messages)) > MAX_TEXT_BYTES:
        return _("has more than %(limit)s bytes of text; send less") % {
            "limit": grouped(MAX_TEXT_BYTES)
        }
    return ""


def fit_messages(messages: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the last of these (role, text) that fit, oldest first; long ones are cut and marked.

    The last message keeps its end, which comes right before the request; the others keep their beginning.
    """
    kept: list[dict[str, str]] = []
    left = MAX_TEXT_BYTES
    for role, text in reversed(
        [(role, text.strip()) for role, text in messages if text.strip()]
    ):
        message = {"role": role, "text": _cut(text, keep_end=not kept)}
        left -= _size(message)
        if left < 0 or len(kept) == MAX_MESSAGES:
            break
        kept.insert(0, message)
    return kept


def _cut(text: str, *, keep_end: bool) -> str:
    if len(text) <= KEPT_CHARACTERS:
        return text
    return (
        f"{CUT}\n\n{text[-KEPT_CHARACTERS:]}"
        if keep_end
        else f"{text[:KEPT_CHARACTERS]}\n\n{CUT}"
    )


def _size(message: Mapping[str, Any]) -> int:
    return len(message["text"].encode("utf-8", "replace"))
