"""The styleguide shows every component, and all styles use the tokens."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from approvals.states import Kind, Priority, Status, WorkflowState
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
