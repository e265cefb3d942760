"""Checkpoints as differences: each keeps the first parts of the previous one and adds a tail. Pure.

Otherwise a turn with n pauses would store its first parts n times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from approvals.db.canonical_json import (
    MAX_BYTES,
    MAX_DEPTH,
    NotCanonical,
    canonical,
    same_json,
)
from approvals.json_types import JsonDict
from approvals.text.translatable import Count, gettext_noop

#: The message of a turn holds all its steps, each of which may have MAX_BYTES, and values of MAX_DEPTH inside its parts.
MAX_MESSAGE_BYTES = 200 * MAX_BYTES
MAX_MESSAGE_DEPTH = MAX_DEPTH + 8

#: Version member of the hashed text of a message.
VERSION = "pausepoint.message.1"

Parts = list[JsonDict]


class Difference(Protocol):
    """The stored columns of a `TurnCheckpoint`."""

    @property
    def kept(self) -> int: ...

    @property
    def tail(self) -> Parts: ...


@dataclass(frozen=True, slots=True)
class Last:
    """The last checkpoint of a message: which one it is, counted from 0, and what it stores."""

    ordinal: int
    kept: int
    tail: Parts


def difference(
    before: Sequence[JsonDict], after: Sequence[JsonDict]
) -> tuple[int, Parts]:
    """Return the number of equal leading parts, and all parts after them."""
    kept = 0
    while kept < min(len(before), len(after)) and same_json(
        before[kept], after[kept], exact=True
    ):
        kept += 1
    return kept, list(after[kept:])


def settled(last: Difference) -> int | None:
    """Return how many parts at a checkpoint can no longer change: those of all steps before its last one.

    None if its tail begins inside that step, because it was asked about twice. Its first part may still change then.
    """
    steps = [
        place for place, part in enumerate(last.tail) if part["type"] == "step-start"
    ]
    return last.kept + steps[-1] if steps else None


def fold(checkpoints: Iterable[Difference]) -> Parts:
    """Return the parts at the last of these checkpoints, which are consecutive and start with the first of a message."""
    parts: Parts = []
    for checkpoint in checkpoints:
        parts = parts[: checkpoint.kept] + list(checkpoint.tail)
    return parts


def canonical_part(part: JsonDict) -> bytes:
    """Return the canonical form of a part of a message. Raise NotCanonical."""
    return canonical(part, max_depth=MAX_MESSAGE_DEPTH - 1, max_bytes=MAX_MESSAGE_BYTES)


def digest_of(parts: Parts, known: Sequence[bytes] = (), *, salt: str) -> str:
    """Return `sha256:` and the hex digest of a message's parts. Raise NotCanonical.

    It is that of the canonical form of `{"parts": [...], "salt": ..., "version": ...}`. The salt protects hidden values in a part
    from brute force. `known` are the canonical forms of the first parts. The message's form contains those of all parts, so only
    the hashing remains.
    """
    forms = [*known, *map(canonical_part, parts[len(known) :])]
    rest = canonical({"salt": salt, "version": VERSION})
    whole = b'{"parts":[%b],%b' % (b",".join(forms), rest[1:])
    if len(whole) > MAX_MESSAGE_BYTES:
        raise NotCanonical(
            gettext_noop("larger than %(limit)s bytes"), limit=Count(MAX_MESSAGE_BYTES)
        )
    return "sha256:" + hashlib.sha256(whole).hexdigest()
