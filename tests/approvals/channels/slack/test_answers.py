"""Answers on cards in Slack: each ends in the one decision path, as on the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from approvals.models import AuditEntry, ChannelAccount, ChannelClick, Decision, PrioritySettings, ToolSettings
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import cancel, decide, make_request, stored
from tests.support.desk.slack import DESK, card_in, carry, connected, linked, outcomes, rule_for
from tests.support.desk.votes import both, group, make_voted, vote
from tests.support.people import alice, bob, make_person, mallory
from tests.support.slack import Slack
from tests.support.slack.faults import UNREACHED

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def test_a_click_approves_and_the_card_says_so(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), input={"amount": 120, "note": "<!channel> *bold* <https://evil.example|here>"})
    card = card_in(slack, ops)
    assert [each for each in card.words.splitlines() if "amount" in each] == ["amount: 120"]
    assert sorted(card.buttons) == [f"pausepoint.{name}" for name in ("approve", "edit", "open", "reject")]
    answer = person.click(card, "pausepoint.approve")
    assert (answer.status, answer.failed, stored(request).status) == (200, "", "pending")
    carry()
    decision = Decision.objects.get()
    assert (decision.by_id, decision.by_name, decision.via, decision.verdict) == (
        approver.pk,
        "bob",
        "slack",
        "approve",
    )
    entry = AuditEntry.objects.get(event="request.decided")
    assert entry.data["account"] == f"slack:{slack.workspace.team_id}/{person.id}"
    carry()
    assert sorted(card.buttons) == ["pausepoint.open"]
    assert "Approved by bob" in card.words
    assert outcomes() == ["decided"]


def test_a_click_of_someone_unknown_leads_to_a_link_and_then_counts(slack):
    approver = bob()
    person = slack.person("robert")
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    person.click(card, "pausepoint.approve")
    carry()
    line = person.messages(ops.id)[-1]
    assert (line.seen_by, outcomes(), stored(request).status) == (person.id, ["unlinked"], "pending")
    address = line.buttons["pausepoint.open"]["url"].removeprefix(DESK)
    client = browser(approver)
    page = client.get(address)
    assert (page.status_code, "robert" in page.text, person.id in page.text) == (200, True, True)
    assert client.post(address).headers["Location"] == "/settings/"
    assert client.post(address).status_code == 404
    [linked_entry] = AuditEntry.objects.filter(event="account.linked")
    assert linked_entry.data["account"] == f"slack:{slack.workspace.team_id}/{person.id}"
    person.click(card, "pausepoint.approve")
    carry()
    assert (outcomes(), stored(request).status) == (["unlinked", "decided"], "approved")


def test_a_link_ends_with_the_account_and_rights_are_read_at_the_click(slack):
    approver = bob()
    person = linked(slack, approver)
    nobody = linked(slack, mallory())
    ops = slack.channel("ops", person, nobody)
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    nobody.click(card, "pausepoint.approve")
    nobody.click(card, "pausepoint.reject")
    carry()
    assert "Request not found" in nobody.messages(ops.id)[-1].words
    approver.is_active = False
    approver.save()
    person.click(card, "pausepoint.approve")
    carry()
    assert outcomes() == ["not_found", "not_found", "inactive"]
    assert (stored(request).status, ChannelAccount.objects.filter(user=approver).count()) == ("pending", 0)
    assert AuditEntry.objects.get(event="account.unlinked").data["user"] == "bob"


def test_a_late_click_is_told_the_first_decision_and_cards_follow_every_end(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    late = make_request(alice(), title="Late?")
    withdrawn = make_request(late.requested_by, title="Withdrawn?")
    card = card_in(slack, ops, "Late?")
    other = slack.message_with(ops, "Withdrawn?")
    decide(late, approver, Verdict.REJECT)
    cancel(withdrawn, late.requested_by)
    person.click(card, "pausepoint.approve")
    carry()
    assert person.messages(ops.id)[-1].words == "This request was rejected just now by bob."
    assert ("Rejected by bob" in card.words, "Cancelled by alice" in other.words) == (True, True)
    assert (outcomes(), sorted(card.buttons), sorted(other.buttons)) == (
        ["already_decided"],
        ["pausepoint.open"],
        ["pausepoint.open"],
    )


def test_a_click_that_comes_twice_is_stored_and_decided_once(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(slack, ops)
    payload = person.click_payload(card, "pausepoint.approve")
    assert [person.send(payload).status for _ in range(3)] == [200, 200, 200]
    person.click(card, "pausepoint.approve")
    carry()
    assert (outcomes(), Decision.objects.count(), person.messages(ops.id)[1:]) == (["decided", "repeated"], 1, [])


def test_a_rejection_asks_for_the_message_that_its_terms_need(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    PrioritySettings.objects.create(priority="normal", reason_required=True)
    make_request(alice())
    card = card_in(slack, ops)
    assert person.click(card, "pausepoint.reject").failed == ""
    modal = person.modal
    assert modal.inputs["reason"]["optional"] is False
    modal.fill(reason="Too much.").submit()
    carry()
    decision = Decision.objects.get()
    assert (decision.verdict, decision.comment, decision.via) == ("reject", "Too much.", "slack")
    # The click that opened the dialog decides nothing, so it is not stored.
    assert (outcomes(), ChannelClick.objects.get().data) == (
        ["decided"],
        {"action": "reject", "request": str(decision.request_id)},
    )


def test_a_dialog_that_cannot_be_opened_says_where_to_answer(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(slack, ops)
    slack.will("views.open", UNREACHED)
    person.click(card, "pausepoint.reject")
    carry()
    assert outcomes() == ["not_opened"]
    assert "Nothing was decided" in person.messages(ops.id)[-1].words


def test_questions_are_answered_by_an_option_by_text_and_by_fields(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    owner = alice()
    options = [{"label": "Paris"}, {"label": "*Rome*"}]
    make_request(owner, Kind.QUESTION, title="Where?", input={}, options=options)
    make_request(owner, Kind.QUESTION, title="Why?", input={})
    schema = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": 9},
            "colour": {"enum": ["red", "blue"]},
            "on": {"type": "string", "format": "date"},
        },
        "required": ["size", "colour"],
    }
    make_request(owner, Kind.FORM, title="Which?", input={}, response_schema=schema)
    person.click(card_in(slack, ops, "Where?"), "pausepoint.option.1")
    person.click(slack.message_with(ops, "Why?"), "pausepoint.answer")
    person.modal.fill(field__0="Because.").submit()
    person.click(slack.message_with(ops, "Which?"), "pausepoint.answer")
    modal = person.modal
    modal.fill(field__0="12", field__1="1", field__2="2026-12-24").submit()
    assert list(modal.view.errors) == ["field.0"]
    modal.fill(field__0="7").submit()
    carry()
    assert [row.answer for row in Decision.objects.order_by("decided_at")] == [
        {"fieldName": "", "selected": ["*Rome*"], "selectedIndex": 1},
        "Because.",
        {"size": 7, "colour": "blue", "on": "2026-12-24"},
    ]


def test_fields_left_empty_are_absent_and_several_options_may_be_chosen(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    owner = alice()
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "note": {"type": "string"}, "size": {"type": "number"}},
        "required": ["name"],
    }
    make_request(owner, Kind.FORM, title="Who?", input={}, response_schema=schema)
    options = [{"label": f"Option {number}"} for number in range(12)]
    make_request(owner, Kind.QUESTION, title="Which?", input={}, options=options, multiple=True, allow_text=True)
    person.click(card_in(slack, ops, "Who?"), "pausepoint.answer")
    person.modal.fill(field__0="Ann").submit()
    person.click(slack.message_with(ops, "Which?"), "pausepoint.answer")
    person.modal.fill(field__0=["1", "11"], field__1="And tea.").submit()
    carry()
    assert [row.answer for row in Decision.objects.order_by("decided_at")] == [
        {"name": "Ann"},
        {"fieldName": "", "selected": ["Option 1", "Option 11"], "selectedIndex": [1, 11], "text": "And tea."},
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"options": [{"label": "a" * 80}, {"label": "b"}]},
        {"response_schema": {"type": "object", "properties": {"a": {"type": "object"}}}},
        {"response_schema": {"type": "object", "properties": {"a": {"type": "string", "format": "password"}}}},
    ],
)
def test_a_question_that_a_dialog_cannot_show_is_opened_or_declined(slack, asked):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice(), Kind.QUESTION if "options" in asked else Kind.FORM, input={}, **asked)
    card = card_in(slack, ops)
    assert [name for name in card.buttons if name not in {"pausepoint.open", "pausepoint.reject"}] == []


@pytest.mark.parametrize(
    "asked",
    [
        {"priority": "critical"},
        {"input": {"password": "hunter2"}},
        {"input": {"text": "x" * 5_000}},
        {"input": {"rows": list(range(60))}},
        {"message": "a\n" * 40},
        {"kind": Kind.RECOVERY, "response_schema": {}},
    ],
)
def test_a_card_that_cannot_show_everything_only_opens_the_request(slack, asked):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice(), **asked)
    card = card_in(slack, ops)
    assert (sorted(card.buttons), "hunter2" in card.words) == (["pausepoint.open"], False)


def test_no_value_passes_for_another_one(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = {
        "note": "ok\namount: 1",
        "amount\n": 2,
        "amount": 3,
        "rows": [{"a": "x\namount: 4", "b": 1}, {"a": "y", "b": 2}],
    }
    make_request(alice(), input=request, message="amount: 5\nPay it.")
    lines = card_in(slack, ops).words.splitlines()
    alike = " (looks like 1 other name here)"
    assert [line for line in lines if line.startswith("amount")] == [f"amount⟨U+000A⟩: 2{alike}", f"amount: 3{alike}"]


@pytest.mark.parametrize(("shows", "seen"), [("title", []), ("fields", ["amount: 120"])])
def test_a_rule_says_what_a_card_in_a_channel_shows(slack, shows, seen):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops, shows)
    ToolSettings.objects.create(tool_name="pay", key_fields=["/amount"])
    make_request(alice(), tool_name="pay")
    card = card_in(slack, ops)
    lines = [line for line in card.words.splitlines() if ": " in line and "Asked" not in line]
    assert (lines, sorted(card.buttons)) == (seen, ["pausepoint.open"])


def test_two_votes_through_two_channels_decide_and_the_card_waits_for_both(slack):
    first = bob()
    second = make_person("dora", "decide_approvalrequest")
    person = linked(slack, first)
    ops = slack.channel("ops", person)
    rule_for(first, ops)
    request = make_voted(alice(), both(group(first, second, votes=2)))
    card = card_in(slack, ops)
    assert "Votes: 0 of 2" in card.words
    person.click(card, "pausepoint.approve")
    carry()
    carry()
    assert (outcomes(), stored(request).status, "Votes: 1 of 2" in card.words) == (["voted"], "pending", True)
    assert "Your vote is counted. Votes: 1 of 2" in person.messages(ops.id)[-1].words
    vote(request, second)
    carry()
    assert (stored(request).status, "Approved by dora" in card.words) == ("approved", True)


def test_a_changed_proposal_makes_the_old_button_worthless(slack):
    first = bob()
    second = make_person("dora", "decide_approvalrequest")
    person = linked(slack, first)
    ops = slack.channel("ops", person)
    rule_for(first, ops)
    request = make_voted(alice(), both(group(first, second, votes=2)))
    card = card_in(slack, ops)
    payload = person.click_payload(card, "pausepoint.approve")
    vote(request, second, Verdict.EDIT, edited_input={"amount": 999})
    person.send(payload)
    carry()
    assert (outcomes(), stored(request).status, "amount: 999" in card.words) == (["changed"], "pending", True)
    person.click(card, "pausepoint.approve")
    carry()
    assert Decision.objects.get().edited_input == {"amount": 999}
