"""Each icon that a page names is in the set of icons."""

from __future__ import annotations

import re

from tests.support.root import ROOT

ICONS = (ROOT / "hitlsite" / "static" / "pausepoint" / "icons.svg").read_text()


def test_every_icon_of_a_template_is_in_the_set():
    pages = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    assert set(re.findall(r'{% icon "([^"]+)"', pages)) - set(re.findall(r'<symbol id="([^"]+)"', ICONS)) == set()
