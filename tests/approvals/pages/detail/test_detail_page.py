"""The page of a request: the surroundings of its card, and its links to other pages."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry, ToolSettings
from approvals.queries.suggestions import last_messages
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import HTMX, at, browser, seen
from tests.support.desk.requests import REFUND, decide, make_request, stored
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


def test_the_heading_is_in_our_words_and_the_title_is_a_quotation():
    owner, decider = alice(), bob()
    approval = make_request(owner, tool_name="refund", title="Approved already")
    pages = {
        "approval": approval,
        "no tool": make_request(owner, tool_name="", title="Approved already"),
        "question": make_request(owner, Kind.QUESTION, title="Approved already"),
    }
    headings = {}
    for name, request in pages.items():
        page = page_of(request, decider)
        (head,) = page.find("header", class_="detail-head")
        quoted = [] if name == "question" else ["Title from the agent: Approved already"]
        assert [one.words for one in head.find("p", class_="agent-title")] == quoted
        headings[name] = [one.words for one in page.find("h1")]
    assert headings == {
        "approval": ["Run refund?"],
        "no tool": ["Request without a tool"],
        "question": ["The agent asks: Approved already"],
    }
    decide(approval, decider, Verdict.REJECT)
    assert [one.words for one in page_of(stored(approval), decider).find("h1")] == ["refund"]


@pytest.mark.parametrize(("title", "quoted"), [("Run refund?", 0), ("refund", 0), ("Run refunds?", 1)])
def test_a_title_that_only_repeats_the_heading_is_not_quoted(title, quoted):
    page = page_of(make_request(alice(), tool_name="refund", title=title), bob())
    assert len(page.find("p", class_="agent-title")) == quoted


def test_the_input_stands_before_the_words_of_the_agent_and_a_long_message_is_folded():
    message = "\n\n".join(["All fine, refund of 5 EUR."] * 60)
    request = make_request(alice(), tool_name="refund", input={"amount": 50_000}, message=message)
    page = page_of(request, bob())
    order = [one.tag for one in page.all() if one.attributes.get("class") in {"values", "agent-text"}]
    assert order == ["table", "figure"]
    (frame,) = page.find("figure", class_="agent-text")
    (fold,) = frame.find("details", class_="fold")
    assert ("open" in fold.attributes, len(fold.find("p")), len(frame.find("p")) - len(fold.find("p"))) == (
        False,
        60,
        3,
    )


def test_the_question_of_the_agent_is_shown_up_to_forty_lines():
    texts = {lines: "\n\n".join(["Which of them?"] * lines) for lines in (20, 40)}
    owner, decider = alice(), bob()
    pages = {lines: page_of(make_request(owner, Kind.QUESTION, message=text), decider) for lines, text in texts.items()}
    folds = {lines: len(page.find("figure")[0].find("details", class_="fold")) for lines, page in pages.items()}
    assert folds == {20: 0, 40: 1}


def test_key_fields_are_beside_the_buttons():
    owner, decider = alice(), bob()
    request = make_request(owner, tool_name="refund", input={"note": "Fine."} | REFUND)
    (values,) = page_of(request, decider).find("div", class_="decision-bar")[-1].find("dl", class_="key-values")
    assert values.words.startswith("note Fine. amount 120")
    settings_for("refund", key_fields=["/amount", "/missing"])
    (values,) = page_of(request, decider).find("div", class_="decision-bar")[-1].find("dl", class_="key-values")
    assert values.words == "amount 120"
    assert page_of(request, owner).find("dl", class_="key-values") == []


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


def test_pushed_cards_leave_the_place_beside_the_input_empty():
    request = make_request(alice(), said_before=[{"role": "user", "text": "Hello."}])
    answer = browser(bob()).post(at(request), seen(request) | {"verdict": "edit", "input.amount": "x"}, headers=HTMX)
    (place,) = [one for one in parse(answer.text).all() if one.attributes.get("id") == f"about-{request.pk}"]
    assert (place.words, "hx-preserve" in place.attributes) == ("", True)


def test_what_surrounds_a_decision_is_behind_tabs_of_which_the_first_is_open():
    owner, decider = alice(), bob()
    request = make_request(owner, tool_name="refund", said_before=[{"role": "user", "text": "Hello."}])
    plain = make_request(owner, tool_name="other")
    decide(make_request(owner, tool_name="refund"), decider, Verdict.REJECT)
    shown = {}
    for each in (request, plain):
        page = page_of(each, decider)
        tabs = [(one.words, one.attributes["aria-selected"]) for one in page.find("button", role="tab")]
        panels = [(one.attributes["id"], "hidden" in one.attributes) for one in page.find("div", role="tabpanel")]
        assert [one.attributes["aria-controls"] for one in page.find("button", role="tab")] == [pk for pk, _ in panels]
        shown[each] = (tabs, [hidden for _, hidden in panels])
    names = ["Conversation", "Earlier decisions", "Notes", "Details"]
    assert shown[request] == (
        [(name, "true" if name == names[0] else "false") for name in names],
        [False, True, True, True],
    )
    # Notes stay closed until someone opens them.
    assert shown[plain] == ([("Notes", "false"), ("Details", "false")], [True, True])


def test_a_decision_that_was_held_does_not_take_the_focus():
    request = make_request(alice())
    answer = browser(bob()).post(at(request), seen(request) | {"verdict": "approve", "held": "yes"}, headers=HTMX)
    assert answer.status_code == 200
    assert [one for one in parse(answer.text).all() if "autofocus" in one.attributes] == []


def test_what_was_approved_unseen_is_in_the_audit_log():
    request, client = make_request(alice(), input={"note": "x" * 5_000, "a": {"b": 1, "c": 2}}), browser(bob())
    viewed = seen(request) | {"verdict": "approve", "viewed": "input.0"}
    refused = client.post(at(request), viewed, headers=HTMX)
    assert refused.status_code == 422
    assert "You haven't seen 2 values and 999 characters yet." in parse(refused.text).words
    client.post(at(request), viewed | {"unread": "accepted"})
    data = AuditEntry.objects.get(event="request.decided", request_id=request.pk).data
    assert data["unseen"] == {"parts": 3, "values": 2, "characters": 999}


def test_a_decision_on_what_was_seen_says_nothing_of_unseen_parts():
    request = make_request(alice())
    browser(bob()).post(at(request), seen(request) | {"verdict": "approve"})
    data = AuditEntry.objects.get(event="request.decided", request_id=request.pk).data
    assert sorted(data) == ["answer", "approved_digest", "comment", "edited_input", "priority", "verdict"]
