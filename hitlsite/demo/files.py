"""Files of the demo, made when they are needed: an invoice as a PDF, and a photo of a delivery as a PNG."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

from approvals.asking.attachments import NewFile, checked_file

WIDTH, HEIGHT = 240, 160


def invoice(lines: Sequence[str]) -> NewFile:
    """Return a PDF of one page with these lines of text (ASCII, without brackets)."""
    rows = " T* ".join(f"({line}) Tj" for line in lines)
    content = f"BT /F1 12 Tf 60 770 Td 18 TL {rows} ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    document = b"%PDF-1.4\n"
    offsets = []
    for number, each in enumerate(objects, 1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\n" % size
    document += b"xref\n0 %d\n0000000000 65535 f \n%b%bstartxref\n%d\n%%%%EOF\n" % (
        size,
        table,
        trailer,
        len(document),
    )
    return _file("invoice-R-2290.pdf", document)


def photo() -> NewFile:
    """Return a PNG of a parcel on a floor."""
    rows = b"".join(
        b"\x00" + b"".join(_colour(x, y) for x in range(WIDTH)) for y in range(HEIGHT)
    )
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    picture = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(*each)
        for each in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(rows)),
            (b"IEND", b""),
        )
    )
    return _file("delivery.png", picture)


def _colour(x: int, y: int) -> bytes:
    in_parcel = 60 <= x < 180 and 45 <= y < 125
    if in_parcel and 112 <= x < 128:
        return b"\xd9\xc7\x9a"
    if in_parcel:
        return b"\xb0\x83\x4f"
    return b"\x6e\x76\x80" if y >= 110 else b"\xc9\xd3\xdc"


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = kind + content
    return (
        struct.pack(">I", len(content))
        + checked
        + struct.pack(">I", zlib.crc32(checked))
    )


def _file(name: str, content: bytes) -> NewFile:
    return checked_file(name, base64.b64encode(content).decode())
