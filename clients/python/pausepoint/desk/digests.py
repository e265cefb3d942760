"""The digest of an input with its files, computed as Pausepoint does: the SHA-256 of canonical JSON (RFC 8785)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

#: Version member of the hashed text, and the hashed members of each file.
VERSION, OF_FILE = "pausepoint.input.1", ("name", "media_type", "size", "sha256")


def input_digest(
    value: Mapping[str, Any],
    attachments: Iterable[Mapping[str, Any]] = (),
    salt: str | None = None,
) -> str:
    """Return the digest of an input: `input_digest` of a request, or `approved_digest` of its decision.

    `attachments` are those of the request, and `salt` is the `digest_salt` beside the digest. Raise ValueError for a value that
    is not JSON.
    """
    files = [{name: file.get(name) for name in OF_FILE} for file in attachments]
    text = canonical(
        {"version": VERSION, "input": value, "attachments": files, "salt": salt}
    )
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> str:
    """Return the canonical form of a JSON value (RFC 8785): sorted names, no spaces, numbers as in JavaScript."""
    match value:
        case None | bool() | str() | int():
            return json.dumps(value, ensure_ascii=False)
        case float():
            return _number(value)
        case Mapping():
            names = sorted(
                value, key=lambda name: name.encode("utf-16-be", "surrogatepass")
            )
            return (
                "{"
                + ",".join(
                    f"{canonical(name)}:{canonical(value[name])}" for name in names
                )
                + "}"
            )
        case list() | tuple():
            return "[" + ",".join(map(canonical, value)) + "]"
    raise ValueError(f"{type(value).__name__} is not a type of JSON.")


def _number(value: float) -> str:
    """Return a number with the fewest digits that identify it, without an exponent from 1e-6 to below 1e21."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not JSON.")
    minus, shown, point = (
        "-" if sign and value else "",
        "".join(map(str, digits)),
        len(digits) + exponent,
    )
    if len(shown) <= point <= 21:
        return minus + (shown.ljust(point, "0") if value else "0")
    if 0 < point <= 21:
        return f"{minus}{shown[:point]}.{shown[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{shown}"
    fraction = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{minus}{shown[0]}{fraction}e{point - 1:+d}"
