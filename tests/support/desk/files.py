"""Small files of every type that a request may have, hostile ones, and a folder to store them in."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.chats.files import PDF, PNG

__all__ = ["CSV", "GIF", "JPEG", "PDF", "PNG", "TEXT", "WEBP", "attachment", "giant_png", "stored_names"]

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + b"\xff\xc0\x00\x0b\x08\x00\x03\x00\x04\x01\x11\x00\x00\xff\xd9"
GIF = b"GIF89a\x05\x00\x02\x00\x00\x00\x00;"
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x06\x40\x00\x00" + bytes(8)
TEXT = "Müller asks for 120 €.\n".encode()
CSV = b"order,amount\n4711,120\n4712,=1+1\n"


def giant_png(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header says that it is this large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def attachment(content: bytes = PNG, name: str = "receipt.png", **more: Any) -> dict[str, Any]:
    """A file as programs send it."""
    return {"name": name, "content": base64.b64encode(content).decode(), **more}


def stored_names(folder: Path) -> list[str]:
    """The files in the storage."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    """The folder in which the files of requests are stored."""
    location = tmp_path / "attachments"
    private = {"BACKEND": "hitlsite.storage.PrivateFiles", "OPTIONS": {"location": str(location)}}
    settings.STORAGES = {**settings.STORAGES, "attachments": private}
    return location
