"""QR codes, as a path that a template draws."""

from __future__ import annotations

from typing import NamedTuple


class QrCode(NamedTuple):
    """The dark modules of a QR code as an SVG path, in a square of this size."""

    path: str
    size: int


def qr_code(text: str) -> QrCode:
    import segno  # noqa: PLC0415 - loaded late

    code = segno.make(text, micro=False, error="m")
    quiet = 4
    dark = (
        (x, y)
        for y, row in enumerate(code.matrix)
        for x, module in enumerate(row)
        if module
    )
    path = "".join(f"M{x + quiet} {y + quiet}h1v1h-1z" for x, y in dark)
    return QrCode(path, len(code.matrix) + 2 * quiet)
