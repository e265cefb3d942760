"""The page of a request: what surrounds its card, and what other pages take from it."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry, ToolSettings
from approvals.queries.messages import last_messages
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import HTMX, at, browser, seen
from tests.support.desk.requests import REFUND, decide, make_request
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db


def settings_for(tool: str, **fields) -> None:
    ToolSettings.objects.create(tool_name=tool, **fields)


def page_of(request, person):
    return parse(browser(person).get(request.get_absolute_url()).text)


def test_other_pages_take_one_element_that_holds_everything_but_the_connection():
    said = [{"role": "user", "text": "Please refund me."}]
    page = page_of(make_request(alice(), said_before=said), bob())
    (detail,) = [one for one in page.find("article") if one.attributes.get("id") == "request-detail"]
    assert [one for one in detail.all() if "ws-connect" in one.attributes] == []
    ids = {one.attributes.get("id") for one in detail.all()}
    assert {"detail-title", "conversation-title", "notes"} <= ids
    (bar,) = [one for one in detail.find("div", class_="decision-bar") if "Approve" in one.words]
    assert "Reject" in bar.words


def test_the_title_is_one_heading_and_the_tool_stands_before_it():
    page = page_of(make_request(alice(), tool_name="refund", title="Refund Ada"), bob())
    (head,) = page.find("header", class_="detail-head")
    assert head.words.startswith("Tool refund Refund Ada")
    assert [one.words for one in page.find("h1")] == ["Refund Ada"]


def test_key_fields_of_the_tool_are_in_the_head():
    settings_for("refund", key_fields=["/amount", "/missing"])
    page = page_of(make_request(alice(), tool_name="refund", input=REFUND), bob())
    (values,) = page.find("dl", class_="key-values")
    assert values.words == "amount 120"


def test_prepared_and_own_last_messages_are_offered_to_who_decides():
    owner, decider, other = alice(), bob(), mallory()
    settings_for("refund", prepared_answers=["Ask the team lead.", 7, " "], reason_required=True)
    for words in ("One.", "Two.", "Two.", "Three.", "Four."):
        decide(make_request(owner, tool_name="refund"), decider, Verdict.REJECT, comment=words)
    decide(make_request(owner, tool_name="other"), decider, Verdict.REJECT, comment="Elsewhere.")
    request = make_request(owner, tool_name="refund")
    page = page_of(request, decider)
    offers = [one.attributes["data-text"] for one in page.find("button", class_="offer")]
    assert offers == ["Ask the team lead.", "Four.", "Three.", "Two."]
    assert "A rejection needs a message." in page.words
    assert page_of(request, owner).find("button", class_="offer") == []
    assert last_messages(other, "refund") == []


def test_the_digest_of_no_input_is_not_shown():
    question = make_request(alice(), Kind.QUESTION, input={})
    assert "sha256:" not in browser(bob()).get(question.get_absolute_url()).text.replace(
        f'value="{question.input_digest}"', ""
    )


def test_pushed_cards_leave_the_places_beside_the_input_empty():
    request = make_request(alice(), said_before=[{"role": "user", "text": "Hello."}])
    answer = browser(bob()).post(at(request), seen(request) | {"verdict": "edit", "input.amount": "x"}, headers=HTMX)
    (place,) = [one for one in parse(answer.text).all() if one.attributes.get("id") == f"before-{request.pk}"]
    assert (place.words, "hx-preserve" in place.attributes) == ("", True)


def test_a_decision_that_was_held_does_not_take_the_focus():
    request = make_request(alice())
    answer = browser(bob()).post(at(request), seen(request) | {"verdict": "approve", "held": "yes"}, headers=HTMX)
    assert answer.status_code == 200
    assert [one for one in parse(answer.text).all() if "autofocus" in one.attributes] == []


def test_what_was_approved_unseen_is_in_the_audit_log():
    request, client = make_request(alice(), input={"note": "x" * 1_400, "a": {"b": 1, "c": 2}}), browser(bob())
    folded = {"verdict": "approve", "opened": "input.0", "closed": "input.1"}
    refused = client.post(at(request), seen(request) | folded, headers=HTMX)
    assert refused.status_code == 422
    assert "1 collapsed part was never opened: 2 values." in parse(refused.text).words
    client.post(at(request), seen(request) | {"verdict": "approve", "unread": "accepted", "closed": "input.1"})
    data = AuditEntry.objects.get(event="request.decided", request_id=request.pk).data
    assert data["unseen"] == {"parts": 2, "values": 2, "characters": 1_000}


def test_a_decision_on_what_was_seen_says_nothing_of_unseen_parts():
    request = make_request(alice())
    browser(bob()).post(at(request), seen(request) | {"verdict": "approve"})
    data = AuditEntry.objects.get(event="request.decided", request_id=request.pk).data
    assert sorted(data) == ["answer", "approved_digest", "comment", "edited_input", "verdict"]
