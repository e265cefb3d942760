"""Files in JSON: references to stored files, as in tool results, and whole files inside texts. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.text.numbers import grouped

#: Path of stored files (`chats.protocols.files`).
FILES = "/api/chats/files/"
_ADDRESS = re.compile(rf"{FILES}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")

#: A non-text file as a base64 `data:` address. The pattern does not backtrack.
_FILE = re.compile(
    r"data:((?:image|audio|video|font)/[\w.+-]{1,80}|application/(?:octet-stream|pdf|zip))(?:;[\w.+-]{1,40}=[\w.+-]{1,80}){0,3}"
    r";base64,([A-Za-z0-9+/_-]{64,}={0,2})"
)
#: How many digits of a digest are shown.
DIGITS = 16


@dataclass(frozen=True, slots=True)
class FileReference:
    """Metadata of a stored file."""

    file_id: uuid.UUID
    media_type: str
    name: str = ""
    digest: str = ""

    @property
    def address(self) -> str:
        return f"{FILES}{self.file_id}"

    @property
    def is_picture(self) -> bool:
        return self.media_type.startswith("image/")

    @property
    def words(self) -> str:
        return self.name or self.media_type


def file_id_of(url: str) -> uuid.UUID | None:
    """Return the id in the address of a stored file; None for any other address."""
    match = _ADDRESS.fullmatch(url)
    return uuid.UUID(match[1]) if match else None


def reference_of(part: Mapping[str, Any]) -> FileReference | None:
    """Return the reference in a `file` part (AI SDK); None for any other JSON object."""
    if (
        part.get("type") != "file"
        or (file_id := file_id_of(str(part.get("url")))) is None
    ):
        return None
    texts = {
        name: str(part.get(name) or "") for name in ("mediaType", "filename", "digest")
    }
    return FileReference(
        file_id, texts["mediaType"], texts["filename"], texts["digest"]
    )


def references_in(value: Any) -> list[FileReference]:
    """Return the references in a JSON value, in order, without duplicates."""
    references: dict[uuid.UUID, FileReference] = {}
    left = [value]
    while left:
        match left.pop():
            case dict() as each if (reference := reference_of(each)) is not None:
                references.setdefault(reference.file_id, reference)
            case dict() as each:
                left += reversed(each.values())
            case list() as each:
                left += reversed(each)
    return list(references.values())


def summarized(text: str) -> str:
    """Return a text with each embedded file replaced by its type, size and digest."""
    return _FILE.sub(_summary, text) if ";base64," in text else text


def _summary(match: re.Match[str]) -> str:
    try:
        content = base64.b64decode(
            match[2] + "=" * (-len(match[2]) % 4),
            altchars=b"-_" if set("-_") & set(match[2]) else None,
        )
    except (binascii.Error, ValueError):
        return match[0]
    label = _("%(type)s file, %(count)s bytes, SHA-256 %(digest)s…")
    digest = hashlib.sha256(content).hexdigest()[:DIGITS]
    return (
        "["
        + label % {"type": match[1], "count": grouped(len(content)), "digest": digest}
        + "]"
    )
