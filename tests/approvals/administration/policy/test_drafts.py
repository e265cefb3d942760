"""The draft of the policy is kept for its person, and the focus stays with the rule that a step is about."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests.approvals.administration.policy.test_pages import (
    ALLOW,
    CHANGE,
    RULE,
    draft_in,
    draft_text_in,
    post,
    signed_in,
    words,
)
from tests.support.desk.browser_form import sent_by_browser
from tests.support.desk.ruling import administrator, apply_policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    return signed_in(administrator())


def focused(page) -> list[str]:
    """The values of the buttons that have the focus when the page opens."""
    return re.findall(r'value="([^"]*)" formnovalidate\s+autofocus aria-describedby="moved"', page.content.decode())


def test_the_focus_stays_with_the_rule_that_a_step_has_moved_or_stored(client):
    document = {"rules": [{"name": name, "then": "ask", "match": {"tools": [name]}} for name in "abc"]}
    steps = {"up:2": "up:1", "up:1": "down:0", "down:0": "down:1", "down:1": "up:2", "remove:2": "edit:1"}
    assert {step: focused(post(client, document, step)) for step in steps} == {
        step: [button] for step, button in steps.items()
    }
    assert "“c” is now rule 2 of 3 in the draft." in words(post(client, document, "up:2"))
    assert focused(post(client, document, "store:", **RULE)) == ["edit:3"]
    assert focused(post(client, document, "store:1", **RULE)) == ["edit:1"]
    assert focused(client.get(CHANGE)) == []


def test_the_draft_is_kept_for_its_person_until_it_is_applied_or_discarded(client):
    apply_policy(ALLOW)
    draft = {"rules": [ALLOW, {"name": "b", "then": "ask"}]}
    saved = sent_by_browser(post(client, draft, "four_eyes", based_on="1").content.decode())
    assert "You have a draft from" in words(client.get("/settings/policy/"))
    page = client.get(CHANGE)
    assert (draft_in(page), "Discard the draft" in words(page)) == ({"four_eyes": True} | draft, True)
    other = signed_in(administrator("eve"))
    assert (draft_in(other.get(CHANGE)), "You have a draft" in words(other.get(CHANGE))) == ({"rules": [ALLOW]}, False)

    # A page that does not continue the draft does not replace it.
    elsewhere = post(client, {"rules": []}, "preview", based_on="1")
    assert "Until you discard it, the changes on this page are not saved." in words(elsewhere)
    assert draft_in(client.get(CHANGE)) == {"four_eyes": True} | draft
    apply_policy(ALLOW, repeat_rejections=True, by=administrator("eve"))
    assert "It cannot be applied: eve has made version 2 live" in words(client.get(CHANGE))

    # Without a change, there is no draft.
    assert draft_in(post(client, {"rules": []}, "discard", based_on="2")) == {"rules": []}
    live = draft_in(other.get(CHANGE))
    emptied = client.get(CHANGE)
    assert post(client, live, "", continues=sent_by_browser(emptied.content.decode())["continues"]).status_code == 200
    assert "You have a draft" not in words(client.get("/settings/policy/"))
    assert saved["continues"]


def test_discarding_the_draft_leaves_its_page(client):
    page = post(client, '{"rules": [}\0', "preview")
    assert draft_text_in(client.get(CHANGE)) == '{"rules": [}\ufffd'
    continues = sent_by_browser(page.content.decode())["continues"]
    assert post(client, {"rules": []}, "discard", continues=continues).url == "/settings/policy/"
    assert draft_in(client.get(CHANGE)) == {"rules": []}
