"""Files that were uploaded to the model's provider, which an agent refers to by id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_ID = re.compile(r"file_[a-zA-Z0-9_-]{1,120}")
USES = ("document", "image", "container")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadedFile:
    """A file at the model's provider that each chat of an agent begins with.

    It is read as a `document` (PDF or text) with a `title`, seen as an `image`, or put into the `container` in which code runs.
    """

    file_id: str
    use: Literal["document", "image", "container"] = "document"
    title: str = ""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.file_id):
            raise ValueError(
                f"uploaded file {self.file_id!r}: the id must start with file_, as returned by the provider's Files API"
            )
        if self.use not in USES:
            raise ValueError(
                f"uploaded file {self.file_id}: use must be one of {', '.join(USES)}"
            )
        if self.title and self.use != "document":
            raise ValueError(
                f"uploaded file {self.file_id}: only a document can have a title"
            )
