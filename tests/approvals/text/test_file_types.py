"""The type and size of a file, by its first bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.text.file_types import SIGNATURES, checked_type, download_name, picture_size, readable_name
from tests.support.desk.files import GIF, JPEG, PDF, PNG, TEXT, WEBP

#: A file of each kind of WebP: lossy, lossless, extended.
LOSSY = b"RIFF\x1a\x00\x00\x00WEBPVP8 \x0e\x00\x00\x00" + bytes(3) + b"\x9d\x01\x2a\x20\x03\x58\x02"
EXTENDED = b"RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00" + bytes(4) + b"\x1f\x03\x00\x57\x02\x00"


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (PNG, (1, 1)),
        (GIF, (5, 2)),
        (JPEG, (4, 3)),
        (WEBP, (7, 2)),
        (LOSSY, (800, 600)),
        (EXTENDED, (800, 600)),
        # Between segments may stand any number of 0xFF, and some segments have no length.
        (b"\xff\xd8\xff\xff\xff\x01\xff\xc2\x00\x0b\x08\x00\x03\x00\x04\x01\x11\x00", (4, 3)),
        (b"\xff\xd8\xff\xda\x00\x02" + bytes(100), None),
        (PNG[:20], None),
        (GIF[:7], None),
        (PDF, None),
        (TEXT, None),
    ],
)
def test_the_size_of_a_picture_is_that_of_its_header(content, size):
    assert picture_size(content) == size


@given(st.sampled_from([PNG[:8], GIF[:6], JPEG[:4], WEBP[:16], LOSSY[:16], EXTENDED[:16]]), st.binary(max_size=200))
def test_any_bytes_have_a_size_or_none(beginning, rest):
    size = picture_size(beginning + rest)
    assert size is None or min(size) > 0


@given(st.binary(max_size=100), st.text(max_size=20))
def test_any_bytes_have_one_of_the_types_or_none(content, name):
    assert checked_type(content, name) in {"", "text/plain", "text/csv", *(kind for _, kind in SIGNATURES)}


@given(st.text(max_size=300))
def test_a_readable_name_is_one_line_without_what_cannot_be_seen(name):
    shown = readable_name(name)
    assert (shown.isprintable(), len(shown) <= 200, set(shown) & set("/\\")) == (True, True, set())


def test_a_name_gets_the_ending_of_its_type_unless_it_has_one():
    assert [download_name(name, "image/jpeg") for name in ("a.jpg", "a.JPEG", "a.png", "a")] == [
        "a.jpg",
        "a.JPEG",
        "a.png.jpg",
        "a.jpg",
    ]
