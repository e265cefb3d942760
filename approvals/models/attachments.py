"""Files that agents send with a request: what is known of each, and where its content is."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.urls import reverse

from approvals.models.requests import ApprovalRequest

#: Pictures with more pixels are not shown on pages: a small file may need gigabytes to be decoded.
MAX_PIXELS = 50_000_000


def file_storage() -> Storage:
    """Return the storage of the files, `STORAGES["attachments"]`."""
    return storages["attachments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file of a request, as the column `attachments` holds it. `width` and `height` are those of a picture."""

    id: str
    name: str
    media_type: str
    size: int
    sha256: str
    width: int | None = None
    height: int | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """What the column holds."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def approved(self) -> dict[str, Any]:
        """What a person approves with it: all that says what it is, and not where it is."""
        return {"name": self.name, "media_type": self.media_type, "size": self.size, "sha256": self.sha256}

    @property
    def path(self) -> str:
        """Its name in the storage, which contains nothing that a client has sent."""
        return path_of(self.id)

    @property
    def is_picture(self) -> bool:
        """Whether pages show it as a picture."""
        return self.width is not None and self.height is not None and self.width * self.height <= MAX_PIXELS

    @property
    def is_text(self) -> bool:
        return self.media_type.startswith("text/")


def path_of(attachment_id: object) -> str:
    """Return the name in the storage of a file."""
    text = str(attachment_id)
    return f"{text[:2]}/{text}"


def files_of(request: ApprovalRequest) -> list[AttachedFile]:
    """Return the files of a request, in order."""
    rows: list[Mapping[str, Any]] = request.attachments or []
    return [AttachedFile(**row) for row in rows]


def address_of(request: ApprovalRequest, file: AttachedFile) -> str:
    """Return the path at which a file is read."""
    return reverse("api:read_attachment", args=[request.pk, file.id])


def public_documents(request: ApprovalRequest) -> list[dict[str, Any]]:
    """Return what programs are told of the files of a request; the addresses are whole, from PUBLIC_URL."""
    return [file.approved | {"url": settings.PUBLIC_URL + address_of(request, file)} for file in files_of(request)]


class RequestAttachment(models.Model):
    """The content of a file in the storage: of a request, or of one that is about to be made.

    The row is written before the file and removed after it, so that no file is without a row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, null=True, related_name="+")
    #: When the file is removed: soon, unless a request is made with it; null while a request has it.
    erase_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["erase_at"], name="attachment_erase", condition=Q(erase_at__isnull=False))
        ]

    def __str__(self) -> str:
        return str(self.pk)
