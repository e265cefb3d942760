"""References to stored files in JSON, such as the results of tools: what they look like, and how they are found. Pure."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Where stored files are read (`chats.protocols.files`).
FILES = "/api/chats/files/"
_ADDRESS = re.compile(rf"{FILES}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")


@dataclass(frozen=True, slots=True)
class FileReference:
    """What is known of a stored file beside its content."""

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
    found = _ADDRESS.fullmatch(url)
    return uuid.UUID(found[1]) if found else None


def reference_of(part: Mapping[str, Any]) -> FileReference | None:
    """Return the reference that a `file` part (AI SDK) is; None for any other JSON object."""
    if part.get("type") != "file" or (file_id := file_id_of(str(part.get("url")))) is None:
        return None
    texts = {name: str(part.get(name) or "") for name in ("mediaType", "filename", "digest")}
    return FileReference(file_id, texts["mediaType"], texts["filename"], texts["digest"])


def references_in(value: Any) -> list[FileReference]:
    """Return the references in a JSON value, in order, each file once."""
    found: dict[uuid.UUID, FileReference] = {}
    left = [value]
    while left:
        match left.pop():
            case dict() as each if (reference := reference_of(each)) is not None:
                found.setdefault(reference.file_id, reference)
            case dict() as each:
                left += reversed(each.values())
            case list() as each:
                left += reversed(each)
    return list(found.values())
