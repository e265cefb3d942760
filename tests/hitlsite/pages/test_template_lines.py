"""Template lines have at most 120 characters."""

from __future__ import annotations

from tests.support.root import ROOT

WIDTH = 120


def test_no_line_of_a_template_is_longer_than_120_characters():
    templates = ROOT / "templates"
    long = [
        f"{path.relative_to(templates)}:{number}: {len(line)}"
        for path in sorted(templates.rglob("*"))
        if path.is_file()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > WIDTH
    ]
    assert long == []
