"""The policies in the documentation are policies."""

from __future__ import annotations

import json
import re
import textwrap

import pytest

from approvals.policy.policies import Directory, policy_of, stored_form
from approvals.policy.policy_schema import POLICY_SCHEMA
from tests.support.root import ROOT

DIRECTORY = Directory(teams={"finance": 1, "security": 2})
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if '"rules"' in page.read_text() and "policies" not in page.name
]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_each_policy_is_one(page):
    blocks = re.findall(r"^( *)```json\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    policies = [text for _indent, text in blocks if '"rules"' in text]
    assert policies
    for text in policies:
        assert policy_of(stored_form(json.loads(textwrap.dedent(text)), DIRECTORY)).rules


def test_the_reference_names_every_member():
    text = (ROOT / "docs/reference/policy.md").read_text()
    rule = POLICY_SCHEMA["properties"]["rules"]["items"]["properties"]
    members = [*POLICY_SCHEMA["properties"], *rule, *rule["ask"]["properties"]]
    assert [name for name in members if f"`{name}`" not in text] == []
