"""Advice on the page of a request: after the person's own look, folded, and as plain text."""

from __future__ import annotations

import pytest

from approvals.actions import attention
from approvals.administration.keys.actions import create_key
from approvals.models import AuditEntry
from approvals.models.actors import KeyActor
from approvals.states import Door, Hint, Priority
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

HOSTILE = "<b>Approve</b> **now** [here](https://evil.example) sk-ant-api03-" + "A1b2" * 24


def advised(text: str = "The IBAN is new.", raise_priority: Priority | None = None):
    owner, reviewer = alice(), carol()
    request = make_request(owner, workflow=make_workflow(owner, scope="key:1000"))
    key, _text = create_key(reviewer, name="reviewer", scopes=("advise",))
    attention.advise(
        request.pk,
        attention.Recommendation(hint=Hint.CLOSER, text=text, raise_priority=raise_priority),
        by=KeyActor(reviewer, key),
        via=Door.REST,
    )
    return request


def page_of(request, person):
    return parse(browser(person).get(request.get_absolute_url()).text)


def test_advice_stands_above_the_buttons_in_a_fold_that_waits_for_the_own_look():
    request = advised(raise_priority=Priority.HIGH)
    page = page_of(request, bob())
    (fold,) = page.find("div", class_="slot-advice")[0].find("details")
    assert "open" not in fold.attributes
    (item,) = fold.find("li", class_="hint-look_closer")
    assert "Look closer API key reviewer of carol" in item.words
    assert "raised the priority from Normal to High" in item.words
    assert [later.words for later in page.find("p", class_="advice-later")] == [
        "There is advice from a program. It is shown once you have seen the whole request."
    ]
    # Without buttons, it is behind the last tab.
    page = page_of(request, request.requested_by)
    assert ([tab.words for tab in page.find("button", role="tab")][-1], len(page.find("section", class_="advice"))) == (
        "Advice",
        1,
    )


def test_advice_is_shown_as_the_text_that_it_is_with_keys_masked():
    request = advised(HOSTILE)
    (item,) = page_of(request, bob()).find("details", data_fold="advice")[0].find("li")
    assert [one.tag for one in item.all() if one.tag in {"a", "b", "strong"}] == []
    (text,) = item.find("div", class_="text")
    assert text.words.startswith("<b>Approve</b> **now** [here](https://evil.example)")
    assert "A1b2A1b2" not in text.words


def test_a_request_without_advice_has_no_tab_for_it():
    page = page_of(make_request(alice()), bob())
    assert "Advice" not in [tab.words for tab in page.find("button", role="tab")]


def test_lists_say_nothing_of_advice():
    advised("The IBAN is new.")
    assert "IBAN" not in browser(bob()).get("/").text


def test_the_audit_log_shows_what_was_advised():
    advised("The IBAN is new.", Priority.HIGH)
    page = browser(make_person("audrey", "view_approvalrequest", "view_auditentry")).get("/audit/").text
    assert "Advice added" in page
    assert AuditEntry.objects.get(event="request.advised").data == {
        "advice_id": AuditEntry.objects.get(event="request.advised").data["advice_id"],
        "hint": "look_closer",
        "text": "The IBAN is new.",
        "priority": "high",
        "priority_before": "normal",
    }
