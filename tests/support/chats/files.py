"""Small files of every type that a message may have, and messages that hold them."""

from __future__ import annotations

import base64
from typing import Any

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\xff\xd9"
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
WEBP = b"RIFF\x04\x00\x00\x00WEBPVP8 "
PDF = b"%PDF-1.7\n1 0 obj\n<</Type /Catalog>>\nendobj\n%%EOF\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def data_url(content: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def file_part(content: bytes = PNG, name: str = "picture.png", media_type: str = "image/png") -> dict[str, Any]:
    """A part as the AI SDK sends it."""
    return {"type": "file", "mediaType": media_type, "filename": name, "url": data_url(content, media_type)}


def message(*parts: dict[str, Any], text: str = "What is this?", message_id: str = "u0") -> dict[str, Any]:
    words = [{"type": "text", "text": text}] if text else []
    return {"id": message_id, "role": "user", "parts": [*parts, *words]}
