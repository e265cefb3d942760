"""Files that agents send with a request: their metadata, and the place of their content."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import ClassVar

from django.conf import settings
from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.urls import reverse

from approvals.json_types import JsonDict, JsonMapping
from approvals.models.requests import ApprovalRequest

#: Pictures with more pixels are not shown on pages: decoding a small file may take gigabytes.
MAX_PIXELS = 50_000_000


def file_storage() -> Storage:
    """Return the storage of the files, `STORAGES["attachments"]`."""
    return storages["attachments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file of a request, as stored in the column `attachments`. `width` and `height` are those of a picture."""

    id: str
    name: str
    media_type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None

    @property
    def stored(self) -> JsonDict:
        """The form in the column."""
        return {
            name: value for name, value in asdict(self).items() if value is not None
        }

    @property
    def approved(self) -> JsonDict:
        """The metadata that a person approves: the description of the file without its place."""
        return {
            "name": self.name,
            "media_type": self.media_type,
            "size": self.size,
            "sha256": self.sha256,
        }

    @property
    def path(self) -> str:
        """Its name in the storage, without any client input."""
        return path_of(self.id)

    @property
    def is_picture(self) -> bool:
        """Whether pages show it as a picture."""
        return (
            self.width is not None
            and self.height is not None
            and self.width * self.height <= MAX_PIXELS
        )

    @property
    def is_text(self) -> bool:
        return self.media_type.startswith("text/")


def path_of(attachment_id: object) -> str:
    """Return a file's name in the storage."""
    text = str(attachment_id)
    return f"{text[:2]}/{text}"


def files_of(attachments: Iterable[JsonMapping] | None) -> list[AttachedFile]:
    """Return the files of a request, in order, of its column `attachments`."""
    return [AttachedFile(**document) for document in attachments or ()]


def address_of(request_id: uuid.UUID, file: AttachedFile) -> str:
    """Return the path for downloading a file."""
    return reverse("api:read_attachment", args=[request_id, file.id])


def public_documents(request: ApprovalRequest) -> list[JsonDict]:
    """Return the files of a request as documents for programs, with full URLs based on PUBLIC_URL."""
    files = files_of(request.attachments)
    return [
        file.approved | {"url": settings.PUBLIC_URL + address_of(request.pk, file)}
        for file in files
    ]


class RequestAttachment(models.Model):
    """The content of a file in the storage, of a stored or a new request.

    The row is written before the file and removed after it, so that every file has a row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    request = models.ForeignKey(
        ApprovalRequest, on_delete=models.PROTECT, null=True, related_name="+"
    )
    #: Removal time of a file without a request; null while a request has it.
    erase_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["erase_at"],
                name="attachment_erase",
                condition=Q(erase_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return str(self.pk)
