"""How a card shows the files of a request: pictures at once, texts and tables in a fold, the rest as links."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from approvals.asking.answered_files import files_of_answer
from approvals.models import ApprovalRequest
from approvals.models.attachments import AttachedFile, address_of, files_of
from approvals.text.file_types import CSV, GIF, JPEG, PDF, PNG, TEXT, WEBP
from approvals.text.tables import Part

#: The largest width and height of a picture on a page.
BOX = (640, 420)
TYPES = {
    PNG: _("PNG picture"),
    JPEG: _("JPEG picture"),
    GIF: _("GIF picture"),
    WEBP: _("WebP picture"),
    PDF: "PDF",
    TEXT: _("Text"),
    CSV: _("CSV table"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file on a card. `place` is where it is shown; a file that is not shown was seen when its link was opened."""

    known: AttachedFile
    place: str
    address: str
    preview: str

    @property
    def about(self) -> str:
        """Its type and size, in words."""
        return f"{TYPES[self.known.media_type]}, {filesizeformat(self.known.size)}"

    @property
    def box(self) -> tuple[int, int]:
        """Width and height of its picture on the page, which are reserved before it is loaded."""
        width, height = self.known.width or 1, self.known.height or 1
        scale = min(1, BOX[0] / width, BOX[1] / height)
        return max(1, round(width * scale)), max(1, round(height * scale))


def shown_files(request: ApprovalRequest) -> list[ShownFile]:
    """Return the files of a request as its card shows them."""
    return _shown(request, files_of(request))


def shown_answer_files(request: ApprovalRequest) -> list[ShownFile]:
    """Return the files in the answer to a request."""
    return _shown(request, files_of_answer(request))


def _shown(request: ApprovalRequest, files: Sequence[AttachedFile]) -> list[ShownFile]:
    return [
        ShownFile(
            known=file,
            place=f"file.{number}",
            address=address_of(request, file),
            preview=reverse("approvals:attachment", args=[request.pk, file.id]) if file.is_text else "",
        )
        for number, file in enumerate(files)
    ]


def unseen_files(files: Sequence[ShownFile], viewed: Collection[str]) -> Iterator[Part]:
    """Yield every file that is at none of the `viewed` places."""
    return (Part(file.place, files=1) for file in files if file.place not in viewed)
