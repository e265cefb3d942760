"""Files of a request before they are stored: their bounds and types."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.db.failures import OutageLog
from approvals.exceptions import Refusal
from approvals.models.attachments import AttachedFile
from approvals.text.file_types import checked_type, picture_size, readable_name
from approvals.text.numbers import grouped

storage_outage = OutageLog(
    logging.getLogger(__name__),
    "The storage of files fails (%s). See `manage.py check`.",
    "The storage of files works again.",
)

#: Maximum number of files in a request, and their total bytes.
MAX_FILES = 10
MAX_BYTES = 5_000_000
#: Maximum characters of all files in base64, on top of the rest of a body.
MAX_CHARACTERS = (MAX_BYTES + 2) // 3 * 4 + 4 * MAX_FILES


@dataclass(frozen=True, slots=True)
class NewFile:
    """A checked file that is not stored yet."""

    known: AttachedFile
    content: bytes = field(repr=False)


class RefusedFile(ValueError):
    """The file is refused; the message gives the reason."""


class StorageFailed(Refusal):
    """The file storage failed to store or return a file."""

    code = "storage_failed"
    status = 503
    sentence = gettext_lazy(
        "Files cannot be stored or read at the moment. Try again in a minute."
    )


def storage_failed(error: Exception) -> StorageFailed:
    """Log the failure of the storage, once per outage, and return the refusal. Each storage backend has its own exceptions."""
    storage_outage.record_failure(f"{type(error).__name__}: {error}")
    return StorageFailed()


class FileRemoved(Refusal):
    """Retention has removed the file, or its content is not the original."""

    code = "file_removed"
    status = 410
    sentence = gettext_lazy(
        "This file is no longer stored. The request keeps its name, size and SHA-256."
    )


def checked_file(name: str, content: str, media_type: str | None = None) -> NewFile:
    """Return a file sent in base64. `media_type` is its declared type, if any. Raise RefusedFile."""
    shown = readable_name(name)
    if not shown:
        raise RefusedFile(_("needs a name with letters or digits"))
    if len(content) > MAX_CHARACTERS:
        raise RefusedFile(_too_large())
    try:
        decoded = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedFile(_("is not valid base64")) from None
    if not decoded:
        raise RefusedFile(_("is empty"))
    checked = checked_type(decoded, shown)
    if not checked:
        raise RefusedFile(
            _("is not a PNG, JPEG, GIF, WebP, PDF, text (UTF-8) or CSV file")
        )
    if media_type is not None and media_type != checked:
        raise RefusedFile(
            _("is %(type)s, not what `media_type` says") % {"type": checked}
        )
    size = picture_size(decoded)
    if checked.startswith("image/") and size is None:
        raise RefusedFile(_("is a broken image: its width and height cannot be read"))
    width, height = size or (None, None)
    known = AttachedFile(
        id=str(uuid4()),
        name=shown,
        media_type=checked,
        size=len(decoded),
        sha256=hashlib.sha256(decoded).hexdigest(),
        width=width,
        height=height,
    )
    return NewFile(known, decoded)


def problem(files: Sequence[NewFile]) -> str:
    """Return why a request cannot have these files; empty if it can."""
    if len(files) > MAX_FILES:
        return _("has more than %(limit)s items") % {"limit": MAX_FILES}
    return _too_large() if sum(file.known.size for file in files) > MAX_BYTES else ""


def _too_large() -> str:
    return _("has more than %(limit)s bytes in all files together") % {
        "limit": grouped(MAX_BYTES)
    }
