"""Detect file types by content: pictures, PDF, text and CSV. Only the headers of pictures are read. Pure."""

from __future__ import annotations

import re

from approvals.text.text import in_one_line

MAX_NAME = 200
PNG = "image/png"
JPEG = "image/jpeg"
GIF = "image/gif"
WEBP = "image/webp"
PDF = "application/pdf"
TEXT = "text/plain"
CSV = "text/csv"
#: Signatures at the start of files. The type declared by a client is ignored.
SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), PNG),
    (re.compile(rb"\xff\xd8\xff"), JPEG),
    (re.compile(rb"GIF8[79]a"), GIF),
    (re.compile(rb"RIFF[\s\S]{4}WEBP"), WEBP),
    (re.compile(rb"%PDF-[12]\."), PDF),
)
#: File name extensions of each type; the first is appended if a name has none of them.
ENDINGS = {
    PNG: (".png",),
    JPEG: (".jpg", ".jpeg"),
    GIF: (".gif",),
    WEBP: (".webp",),
    PDF: (".pdf",),
    TEXT: (".txt", ".log", ".md"),
    CSV: (".csv",),
}
#: Characters that do not occur in text, apart from a byte order mark at the start.
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
#: How HTML, SVG and XML start: documents that a browser might run.
_MARKUP = re.compile(r"\s*<[!?/a-zA-Z]")
#: JPEG segments with the picture size, and those without a length.
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset(range(0xD0, 0xD9)) | {0x01}


def media_type_of(content: bytes) -> str:
    """Return the media type by the file's signature; "" for all but pictures and PDFs."""
    return next(
        (
            media_type
            for signature, media_type in SIGNATURES
            if signature.match(content)
        ),
        "",
    )


def checked_type(content: bytes, name: str) -> str:
    """Return the media type of a picture, a PDF or a text (CSV if its name says so); "" for anything else.

    A text is UTF-8 without control characters, and without markup, which a browser might run.
    """
    if media_type := media_type_of(content):
        return media_type
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    if _NO_TEXT.search(text) or _MARKUP.match(text):
        return ""
    return CSV if name.lower().endswith(ENDINGS[CSV]) else TEXT


def readable_name(name: str) -> str:
    """Return a file's name on one line, without directories and unprintable characters."""
    return in_one_line(re.split(r"[/\\]", name)[-1])[:MAX_NAME]


def download_name(name: str, media_type: str) -> str:
    """Return the name for saving a file, with the extension of its type, since programs rely on it."""
    endings = ENDINGS[media_type]
    return name if name.lower().endswith(endings) else f"{name}{endings[0]}"


def picture_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height from the header of a picture; None if they are missing."""
    match media_type_of(content):
        case "image/png" if content[12:16] == b"IHDR":
            size = _big(content[16:20]), _big(content[20:24])
        case "image/gif":
            size = _little(content[6:8]), _little(content[8:10])
        case "image/jpeg":
            size = _jpeg_size(content)
        case "image/webp":
            size = _webp_size(content)
        case _:
            return None
    return size if min(size) > 0 else None


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker in _JPEG_SIZES:
            return _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7])
        if marker == 0xFF:
            # Any number of 0xFF may precede a marker.
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        else:
            at += 2 + max(2, _big(content[at + 2 : at + 4]))
    return 0, 0


def _webp_size(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8X":
            return _little(content[24:27]) + 1, _little(content[27:30]) + 1
        case b"VP8L" if content[20:21] == b"\x2f":
            bits = _little(content[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 " if content[23:26] == b"\x9d\x01\x2a":
            return _little(content[26:28]) & 0x3FFF, _little(content[28:30]) & 0x3FFF
    return 0, 0


def _big(content: bytes) -> int:
    return int.from_bytes(content, "big")


def _little(content: bytes) -> int:
    return int.from_bytes(content, "little")
