"""The digest of an input with its files, as programs and auditors compute it too (`docs/how-to/send-files.md`). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from approvals.db.canonical_json import MAX_BYTES, MAX_DEPTH, canonical, digest

#: What the hashed text says of itself. A text of another form or for another purpose gets another value, and so never the same
#: digest.
VERSION = "pausepoint.input.1"


def input_text(value: Any, files: Sequence[Mapping[str, Any]] = (), salt: str = "") -> bytes:
    """Return the text that is hashed: the input and its files in members of their own, so that no input looks like files."""
    text = {"version": VERSION, "input": _plain(value), "attachments": list(files), "salt": salt or None}
    return canonical(text, max_depth=MAX_DEPTH + 1, max_bytes=2 * MAX_BYTES)


def input_digest(value: Any, files: Sequence[Mapping[str, Any]] = (), salt: str | None = "") -> str:
    """Return `sha256:` and the hex digest of an input with its files. NotCanonical.

    `salt` keeps a hidden value from being found by trying all of them; empty where nothing is hidden. None is for requests
    from before there were salts, whose digests were made of another text.
    """
    if salt is None:
        return _first_form(value, files)
    return digest_of_text(input_text(value, files, salt))


def digest_of_text(text: bytes) -> str:
    """Return `sha256:` and the hex digest of a text."""
    return "sha256:" + hashlib.sha256(text).hexdigest()


def _first_form(value: Any, files: Sequence[Mapping[str, Any]]) -> str:
    if not files:
        return digest(_plain(value))
    return digest({"input": _plain(value), "attachments": list(files)}, max_depth=MAX_DEPTH + 1)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
