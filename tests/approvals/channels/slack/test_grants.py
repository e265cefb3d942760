"""*Approve for…* on a card of Slack: a dialog asks for the terms, a second one states them in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.models import AuditEntry, Decision, Grant, Preferences, ToolSettings
from approvals.states import Verdict
from approvals.text.times import clock_time
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.slack import card_in, carry, connected, linked, outcomes, rule_for
from tests.support.desk.votes import both, group, make_voted
from tests.support.people import alice, bob
from tests.support.slack import Slack

pytestmark = pytest.mark.django_db(transaction=True)

GRANT = "pausepoint.grant"


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def test_a_grant_is_given_in_two_dialogs_with_the_words_of_the_page(slack):
    approver = bob()
    person = linked(slack, approver)
    Preferences.objects.create(person=approver, time_zone="Asia/Tokyo")
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    owner = alice()
    ToolSettings.objects.create(tool_name="pay", key_fields=["/amount"])
    request = make_request(owner, tool_name="pay")
    make_request(owner, tool_name="pay", workflow=stored(request).workflow, title="Too?")
    rejected = make_request(owner, tool_name="pay", title="No?")
    decide(rejected, approver, Verdict.REJECT)
    card = card_in(slack, ops)
    answer = person.click(card, GRANT)
    assert (answer.failed, person.modal.view.content["title"]["text"]) == ("", "Approve for…")
    labels = [block["label"]["text"] for block in person.modal.inputs.values()]
    assert labels == [
        "What runs without asking",
        "For whom",
        "Duration",
        "Time",
        "Maximum uses",
        "Reason, for the record (optional)",
    ]
    modal = person.modal
    modal.fill(field__0="1", field__1="0", field__4="10001").submit()
    assert modal.view.errors == {"field.4": "This is too many: a grant has at most 10,000."}
    modal.fill(field__4="3", field__5="All day").submit()
    [title, *words, sentence, _message] = person.modal.words.splitlines()[1:]
    assert title == "May I?"
    assert words == [
        "1 request that this would have approved in the last 30 days was rejected.",
        "1 waiting request is covered, too. It is not approved by this.",
    ]
    before, _until, limits = sentence.partition(" until ")
    assert before == (
        "For the agent support (requested by alice), calls of pay with the same key fields: amount 120 run without asking,"
    )
    assert Grant.objects.count() == 0
    person.modal.fill(reason="Go on.").submit()
    carry()
    decision = Decision.objects.get(request=request)
    grant = Grant.objects.get()
    with timezone.override("Asia/Tokyo"):
        assert limits == f"{clock_time(grant.until)}, at most 3 times."
    assert (decision.by_name, decision.via, decision.comment) == ("bob", "slack", "Go on.")
    assert (grant.given_by_name, grant.via, grant.uses, grant.reason, grant.audience) == (
        "bob", "slack", 3, "All day", "agent",
    )  # fmt: skip
    assert abs(grant.until - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert AuditEntry.objects.get(event="grant.given").via == "slack"
    carry()
    assert sorted(card.buttons) == ["pausepoint.open"]


def chosen(person, card) -> None:
    """Choose the first terms, so that the dialog that states them is open."""
    assert person.click(card, GRANT).failed == ""
    person.modal.submit()
    assert person.modal.view.content["submit"]["text"] == "Approve and grant"


def test_a_grant_is_offered_only_where_its_page_offers_it(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    owner = alice()
    ToolSettings.objects.create(tool_name="never", no_grants=True)
    make_voted(owner, both(group(approver)), tool_name="pay", title="Votes?")
    make_request(owner, title="No tool?")
    make_request(owner, title="Never?", tool_name="never")
    make_request(owner, title="Here?", tool_name="pay")
    carry()
    offered = {each.words.splitlines()[0]: GRANT in each.buttons for each in ops.messages}
    assert offered == {"Votes?": False, "No tool?": False, "Never?": True, "Here?": True}
    person.click(slack.message_with(ops, "Never?"), GRANT)
    carry()
    assert person.messages(ops.id)[-1].words == (
        "A grant is not possible for this tool: its settings say that a person decides each time. "
        "This cannot be answered here. Nothing was decided. Open the request."
    )
    assert (outcomes(), Decision.objects.count()) == (["not_opened"], 0)


def test_stated_terms_are_checked_again_with_the_decision(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay")
    card = card_in(slack, ops)
    chosen(person, card)
    ToolSettings.objects.create(tool_name="pay", grant_uses=2)
    person.modal.submit()
    carry()
    assert "The grant is invalid." in person.messages(ops.id)[-1].words
    ToolSettings.objects.all().delete()
    chosen(person, card)
    approver.user_permissions.clear()
    person.modal.submit()
    carry()
    assert (outcomes(), stored(request).status, Grant.objects.count()) == (["invalid", "not_found"], "pending", 0)


@pytest.mark.parametrize(
    "altered",
    [
        {"covers": "all"},
        {"uses": True},
        {"uses": 10**12},
        {"until": "tomorrow"},
        {"until": "9999-12-31T23:59:59-14:00"},
        {"audience": None},
        {"audience": ["agent"]},
        {"reason": 1},
        {"reason": "x" * 1001},
    ],
)
def test_altered_terms_decide_nothing(slack, altered):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    make_request(alice(), tool_name="pay")
    chosen(person, card_in(slack, ops))
    submission = person.modal.submission()
    about = json.loads(submission["view"]["private_metadata"])
    about["terms"] |= altered
    submission["view"]["private_metadata"] = json.dumps(about)
    answer = person.send(submission)
    carry()
    assert (answer.status, outcomes(), Decision.objects.count()) == (200, ["invalid"], 0)


def test_terms_for_a_request_that_has_ended_are_answered_with_its_end(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay")
    card = card_in(slack, ops)
    person.click(card, GRANT)
    decide(request, approver, Verdict.REJECT)
    person.modal.submit()
    carry()
    assert (outcomes(), Grant.objects.count()) == (["already_decided"], 0)
    assert "Rejected by bob" in person.messages(ops.id)[-1].words
