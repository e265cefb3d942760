"""Reduce screenshots to 256 colors: a third of the size, and text looks the same. Several become one moving picture (APNG)."""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from collections import Counter

from playwright.sync_api import Page

#: Decodes a picture into its width, and its pixels as red, green, blue, alpha.
DECODE = """async (png) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height), context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    const pixels = new Blob([context.getImageData(0, 0, picture.width, picture.height).data]);
    const address = await new Promise((done) => {
        const reader = new FileReader();
        reader.onload = () => done(reader.result);
        reader.readAsDataURL(pixels);
    });
    return [picture.width, address.split(",")[1]];
}"""


def smaller(page: Page, png: bytes) -> bytes:
    """Return the picture with its most frequent colors; every other color becomes the nearest of them. `page` decodes it."""
    header, palette, (lines,) = _indexed(page, [png])
    return _png([(b"IHDR", header), (b"PLTE", palette), (b"IDAT", lines)])


def moving(page: Page, pictures: list[tuple[bytes, int]]) -> bytes:
    """Return the pictures as one that moves, each shown for its milliseconds, again and again. All have the same size."""
    header, palette, frames = _indexed(page, [png for png, _ in pictures])
    parts = [
        (b"IHDR", header),
        (b"PLTE", palette),
        (b"acTL", struct.pack(">II", len(frames), 0)),
    ]
    order = itertools.count()
    for number, (lines, (_, duration)) in enumerate(zip(frames, pictures, strict=True)):
        control = struct.pack(
            ">I8sIIHHBB", next(order), header[:8], 0, 0, duration, 1000, 0, 0
        )
        parts.append((b"fcTL", control))
        parts.append(
            (b"fdAT", struct.pack(">I", next(order)) + lines)
            if number
            else (b"IDAT", lines)
        )
    return _png(parts)


def _indexed(page: Page, pictures: list[bytes]) -> tuple[bytes, bytes, list[bytes]]:
    """Return the header, the common palette, and the compressed lines of each picture."""
    decoded = [
        page.evaluate(DECODE, base64.b64encode(png).decode()) for png in pictures
    ]
    colours = []
    for _, encoded in decoded:
        pixels = base64.b64decode(encoded)
        colours.append(
            [pixels[place : place + 3] for place in range(0, len(pixels), 4)]
        )
    counts = Counter(itertools.chain.from_iterable(colours))
    palette = [colour for colour, _ in counts.most_common(256)]
    places = {colour: place for place, colour in enumerate(palette)}
    for colour in counts.keys() - places.keys():
        places[colour] = min(
            range(len(palette)), key=lambda place: _distance(palette[place], colour)
        )
    width = decoded[0][0]
    header = struct.pack(">IIBBBBB", width, len(colours[0]) // width, 8, 3, 0, 0, 0)
    return (
        header,
        b"".join(palette),
        [_lines(bytes(places[each] for each in picture), width) for picture in colours],
    )


def _lines(rows: bytes, width: int) -> bytes:
    lines = (
        b"\0" + rows[start : start + width] for start in range(0, len(rows), width)
    )
    return zlib.compress(b"".join(lines), 9)


def _png(parts: list[tuple[bytes, bytes]]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(*part) for part in (*parts, (b"IEND", b""))
    )


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )
