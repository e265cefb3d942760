"""Stored files as parts of messages, as references in the outputs of calls, and as blocks for the model. Pure."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping
from typing import Protocol

from approvals.json_types import JsonDict, JsonMapping
from approvals.text.file_references import FILES, FileReference, reference_of

#: The namespace of the ids of files that tools returned.
RESULT_FILES = uuid.UUID("0d5c1f0e-3b7a-5d1c-9f0a-6a5c6f1c2b11")


class StoredFile(Protocol):
    """The metadata of a file."""

    file_id: uuid.UUID
    media_type: str
    name: str
    size: int
    digest: str


def file_part(file: StoredFile) -> JsonDict:
    """Return the `file` part (AI SDK) that names a stored file."""
    named = {"filename": file.name} if file.name else {}
    return {
        "type": "file",
        "mediaType": file.media_type,
        **named,
        "url": f"{FILES}{file.file_id}",
    }


def result_file(file: StoredFile) -> JsonDict:
    """Return the reference to a file in the stored output of the call that returned it."""
    return file_part(file) | {"size": file.size, "digest": file.digest}


def result_file_id(tool_call_id: str, digest: str) -> uuid.UUID:
    """Return the id of a file that a call returned: the same in each run, and different for each call."""
    return uuid.uuid5(RESULT_FILES, f"{tool_call_id} {digest}")


def is_of_result(file_id: uuid.UUID) -> bool:
    """Return whether a tool returned this file. The ids of files from people are random."""
    return file_id.version == 5


def file_ids(parts: Iterable[JsonMapping]) -> list[uuid.UUID]:
    """Return the ids of the stored files that a message names."""
    return [
        reference.file_id
        for part in parts
        if (reference := reference_of(part)) is not None
    ]


def block_of_part(part: JsonMapping, files: Mapping[uuid.UUID, bytes]) -> JsonDict:
    """Return the block for the `file` part of a person's message."""
    reference = reference_of(part)
    if reference is None:
        return _no_longer_stored(str(part.get("filename") or part.get("mediaType")))
    return file_block(reference, files)


def file_block(file: FileReference, files: Mapping[uuid.UUID, bytes]) -> JsonDict:
    """Return the block with a file's content, or with a text placeholder if it is not among `files`."""
    if file.file_id not in files:
        return _no_longer_stored(file.words)
    content = base64.b64encode(files[file.file_id]).decode()
    source = {"type": "base64", "media_type": file.media_type, "data": content}
    if file.is_picture:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} | (
        {"title": file.name} if file.name else {}
    )


def _no_longer_stored(name: str) -> JsonDict:
    return {"type": "text", "text": f"(A file is no longer stored: {name})"}
