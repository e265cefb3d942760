"""The set of icons has each icon that a page names, and no other."""

from __future__ import annotations

import re

from tests.support.root import ROOT

STATIC = ROOT / "hitlsite" / "static" / "pausepoint"
ICONS = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "icons.svg").read_text()))


def _found(pattern: str, folder: str, kind: str) -> set[str]:
    return {name for path in (ROOT / folder).rglob(kind) for name in re.findall(pattern, path.read_text())}


def _named() -> set[str]:
    """Return the icons that are named where only icons are named: by tags, by attributes and by scripts."""
    tags = _found(r'{% (?:icon|list_icon \w+) "([^"]+)"', "templates", "*.html")
    attributes = _found(r'data-icon="([\w-]+)"', "templates", "*.html")
    return tags | attributes | _found(r'icon(?:\(|: )"([\w-]+)"', "hitlsite/static/pausepoint", "*.js")


def test_every_icon_that_is_named_is_in_the_set():
    assert _named() - ICONS == set()


def test_every_icon_in_the_set_is_named():
    # Modules that choose an icon have its name in a table.
    modules = [path.read_text() for app in ("approvals", "chats") for path in (ROOT / app / "pages").rglob("*.py")]
    chosen = {name for text in modules if "icon" in text.lower() for name in re.findall(r'"([a-z][\w-]*)"', text)}
    assert ICONS - _named() - chosen == set()
