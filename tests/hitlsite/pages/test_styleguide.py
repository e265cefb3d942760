"""The styleguide shows every component, and all styles use the tokens."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from approvals.states import Kind, Priority, Status, WorkflowState
from approvals.templatetags.desk import TONES
from docs.styleguide import settings as guide
from tests.support.people import alice
from tests.support.root import ROOT

STYLES = [folder / "pausepoint" for folder in (ROOT / "hitlsite" / "static", guide.HERE / "static")]
SHEETS = sorted(path for folder in STYLES for path in folder.glob("*.css"))


def test_the_styleguide_shows_every_kind_state_and_priority(db, settings):
    client = Client()
    client.force_login(alice())
    assert client.get("/styleguide/").status_code == 404
    settings.TEMPLATES, settings.ROOT_URLCONF = guide.TEMPLATES, guide.ROOT_URLCONF
    text = client.get("/styleguide/").content.decode()
    badges = set(re.findall(r'class="badge ([a-z]+-[a-z]+)"', text))
    words = {"kind": Kind, "status": Status, "priority": Priority, "state": WorkflowState}
    assert {f"{name}-{value}" for name, values in words.items() for value in values} - badges == set()
    assert set(re.findall(r"urgency-\w+ (is-\w+)", text)) == {f"is-{status}" for status in Status}


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.name)
def test_colours_corners_and_small_type_are_tokens(path):
    rules = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    if path.name == "tokens.css":
        rules = re.sub(r":root {.*?}", "", rules, flags=re.DOTALL)
    colours = re.findall(r"#[0-9a-f]{3,8}\b(?=[; ])|rgba?\([^)]*\)", rules)
    corners = [found for found in re.findall(r"border-radius: (\d+px)", rules) if int(found[:-2]) > 5]
    small = re.findall(r"font-size: (\.\d+rem)", rules)
    assert (colours, corners, small) == ([], [], [])


def test_every_used_token_is_defined():
    sheets = "".join(path.read_text() for path in SHEETS)
    assert set(re.findall(r"var\((--[\w-]+)\)", sheets)) - set(re.findall(r"(--[\w-]+):", sheets)) == set()


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_initials_can_be_read_on_their_circle_in_both_themes():
    tokens = (STYLES[0] / "tokens.css").read_text()
    colours = {name: both for name, *both in re.findall(r"(--tone-[\w-]+): light-dark\((#\w+), (#\w+)\)", tokens)}
    assert set(colours) == {f"--tone-{number}{soft}" for number in range(TONES) for soft in ("", "-soft")}
    pale = []
    for number in range(TONES):
        for ink, ground in zip(colours[f"--tone-{number}"], colours[f"--tone-{number}-soft"], strict=True):
            dark, bright = sorted((luminance(ink), luminance(ground)))
            if (bright + 0.05) / (dark + 0.05) < 4.5:
                pale.append((ink, ground))
    assert pale == []
