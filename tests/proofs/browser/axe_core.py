"""axe-core in a page: what it finds there by the rules of WCAG 2.2, level AA."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.services import install_packages

PACKAGE = Path(__file__).parent / "axe"
#: Half of the combinations: another test compares the colours of the other half.
SIGHTS = (({"width": 360, "height": 740}, "light"), ({"width": 1280, "height": 900}, "dark"))
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
#: What WCAG does not demand: a screen reader's user goes by headings and landmarks.
MORE = ["heading-order", "landmark-unique", "landmark-no-duplicate-main", "region", "empty-heading"]
#: Each violation as "rule: where it is first, and why".
LOOK = f"""async () => {{
    const told = (one) => `${{one.html.slice(0, 200)}} ${{one.failureSummary}}`;
    const more = Object.fromEntries({MORE!r}.map((name) => [name, {{ enabled: true }}]));
    const {{ violations }} = await axe.run({{ runOnly: {RULES!r}, rules: more, resultTypes: ["violations"] }});
    return violations.map(({{ id, nodes }}) => `${{id}} (${{nodes.length}}): ${{told(nodes[0])}}`);
}}"""


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the axe script, which the browser runs itself because the pages' policy forbids adding scripts."""
    install_packages(PACKAGE)
    return (PACKAGE / "node_modules" / "axe-core" / "axe.min.js").read_text()


def violations(page, axe: str) -> dict[tuple[int, str], list[str]]:
    """Return what axe finds on this page, by width and theme."""
    page.evaluate(axe)
    found = {}
    for size, scheme in SIGHTS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found[size["width"], scheme] = page.evaluate(LOOK)
    return {where: what for where, what in found.items() if what}
