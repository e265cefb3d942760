"""Files below a folder, readable only by their owner, and flushed to disk before they count as stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from django.core.files.storage import FileSystemStorage

from approvals.models.attachments import file_storage
from hitlsite.backups import sync_folder


def unwritable_folder() -> Path | None:
    """Return the attachments folder if this process cannot write to it; None if it can or they are stored elsewhere."""
    storage = file_storage()
    if not isinstance(storage, FileSystemStorage):
        return None
    folder = Path(storage.location)
    # It is created with the first file.
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return None if os.access(existing, os.W_OK | os.X_OK) else folder


class PrivateFiles(FileSystemStorage):
    """Stores files that only Pausepoint reads: they have no URL of their own."""

    def __init__(self, location: str | Path) -> None:
        super().__init__(
            str(location), file_permissions_mode=0o600, directory_permissions_mode=0o700
        )

    def save(
        self, name: str | None, content: IO[Any], max_length: int | None = None
    ) -> str:
        """Store a file, flush it and its folders to disk, and return its name."""
        saved = super().save(name, content, max_length)
        path = Path(self.path(saved))
        with path.open("rb") as written:
            os.fsync(written.fileno())
        # The folder may be new too.
        for folder in (path.parent, path.parent.parent):
            sync_folder(folder)
        return saved
