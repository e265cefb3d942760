"""Answers through a relay: each token decides once, for one person, on the content that was shown, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import AuditEntry, ChannelAccount, Decision, PrioritySettings, RelayMessage, ToolSettings
from approvals.states import Control, Kind, Verdict
from tests.support.desk.relay import Chat, carry, connected, linked, rule_for
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.votes import both, group, make_voted
from tests.support.people import alice, bob, make_person, mallory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(settings) -> Iterator[Chat]:
    with connected(settings) as chat:
        yield chat


def problem(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_an_answer_decides_and_the_message_ends(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    request = make_request(alice(), input={"amount": 120, "note": "*bold* <!channel>"})
    carry()
    message = chat.message
    assert (message["account"], message["title"], message["revision"]) == ("id-bob", "May I?", 1)
    assert message["open"] == f"https://desk.example.org/requests/{request.pk}/"
    assert message["text"].splitlines()[:3] == [
        "Tool: refund" if request.tool_name else "amount: 120",
        "note: *bold* <!channel>",
        "Asked by support",
    ]
    assert [(each["verdict"], each["label"], each["message"]) for each in message["answers"]] == [
        ("approve", "Approve", "optional"),
        ("reject", "Reject", "optional"),
    ]
    row = RelayMessage.objects.get()
    assert (len(row.token_digest), message["token"] == row.token_digest) == (64, False)
    response = chat.answer(message, "approve", message="Go ahead.")
    assert (response.status_code, response.json()["outcome"]) == (200, "decided")
    assert response.json()["detail"].startswith("Approved by bob")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_name, decision.via, decision.comment) == (
        "approve",
        "bob",
        "relay",
        "Go ahead.",
    )
    entry = AuditEntry.objects.get(event="request.decided")
    assert (entry.via, entry.data["account"]) == ("relay", "relay:mattermost/id-bob")
    carry()
    assert (chat.shown, len(chat.ended)) == ({}, 1)
    ended = chat.ended[message["message"]]
    assert (ended["revision"], "Approved by bob" in ended["text"], "via relay" in ended["text"]) == (2, True, True)
    carry()
    assert len(chat.got) == 2


def test_an_answer_elsewhere_ends_the_message_of_everyone(chat):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    for person in (approver, other):
        linked(person)
        rule_for(person)
    request = make_request(alice())
    carry()
    assert sorted(each["account"] for each in chat.shown.values()) == ["id-bob", "id-dora"]
    decide(request, approver, Verdict.REJECT)
    late = chat.answer(next(iter(chat.shown.values())), "approve")
    assert problem(late) == (409, "already_decided")
    assert late.json()["detail"] == "This request was rejected just now by bob."
    carry()
    assert (chat.shown, len(chat.ended), Decision.objects.count()) == ({}, 2, 1)


def test_a_replayed_answer_decides_nothing_and_is_told_in_words(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    make_request(alice())
    carry()
    message = chat.message
    assert chat.answer(message, "approve").status_code == 200
    for verdict in ("approve", "reject"):
        response = chat.answer(message, verdict)
        assert problem(response) == (409, "token_used")
        assert response.json()["detail"] == "You have answered this already. Open the request to see its state."
    assert Decision.objects.count() == 1


def test_a_forwarded_token_decides_nothing(chat):
    approver = bob()
    linked(approver)
    linked(make_person("dora", "decide_approvalrequest", "view_approvalrequest"))
    rule_for(approver)
    request = make_request(alice())
    carry()
    for account in ("id-dora", "id-nobody", "ID-BOB", "id-bob "):
        response = chat.answer(chat.message | {"account": account}, "approve")
        assert problem(response) == (403, "other_account")
    assert (stored(request).status, Decision.objects.count()) == ("pending", 0)


def test_a_late_token_decides_nothing_and_the_message_comes_again(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    request = make_request(alice())
    carry()
    first = chat.message
    RelayMessage.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = chat.answer(first, "approve")
    assert problem(response) == (410, "token_expired")
    carry()
    assert (chat.message["revision"], chat.message["token"] == first["token"]) == (2, False)
    assert problem(chat.answer(first, "approve")) == (404, "token_unknown")
    assert stored(request).status == "pending"
    assert chat.answer(chat.message, "reject").status_code == 200
    assert stored(request).status == "rejected"


def test_rights_links_and_accounts_are_read_at_the_answer(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    request = make_request(alice())
    carry()
    message = chat.message
    approver.user_permissions.clear()
    assert problem(chat.answer(message, "approve")) == (404, "not_found")
    approver.is_active = False
    approver.save()
    response = chat.answer(message, "approve")
    assert response.json()["detail"] == "Your account in Pausepoint is deactivated. Nothing was decided."
    assert (ChannelAccount.objects.count(), RelayMessage.objects.count()) == (0, 0)
    assert problem(chat.answer(message, "approve")) == (404, "token_unknown")
    assert (stored(request).status, Decision.objects.count()) == ("pending", 0)


def test_a_changed_input_needs_its_own_token(chat):
    approver = bob()
    second = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    linked(approver)
    rule_for(approver)
    request = make_voted(alice(), both(group(approver, second, votes=2)))
    carry()
    first = chat.message
    decide(request, second, Verdict.EDIT, edited_input={"amount": 7}, shown_digest=request.input_digest)
    assert problem(chat.answer(first, "approve")) == (409, "changed")
    carry()
    assert "amount: 7" in chat.message["text"]
    response = chat.answer(chat.message, "approve")
    assert (response.status_code, response.json()["outcome"]) == (200, "decided")
    assert Decision.objects.get().edited_input == {"amount": 7}


def test_a_vote_counts_and_ends_the_answers_of_its_voter(chat):
    approver = bob()
    second = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    for person in (approver, second):
        linked(person)
        rule_for(person)
    request = make_voted(alice(), both(group(approver, second, votes=2)))
    carry()
    by_account = {each["account"]: each for each in chat.shown.values()}
    response = chat.answer(by_account["id-bob"], "approve")
    assert (response.json()["outcome"], stored(request).status) == ("voted", "pending")
    assert "Votes: 1 of 2" in response.json()["detail"]
    assert problem(chat.answer(by_account["id-bob"], "reject")) == (409, "token_used")
    carry()
    by_account = {each["account"]: each for each in chat.shown.values()}
    assert "Votes: 1 of 2" in by_account["id-dora"]["text"]
    assert chat.answer(by_account["id-dora"], "approve").json()["outcome"] == "decided"


def test_nobody_decides_their_own_request_through_a_relay(chat):
    owner = make_person("ann", "decide_approvalrequest", "view_approvalrequest")
    linked(owner)
    rule_for(owner)
    ToolSettings.objects.create(tool_name="pay", control=Control.FOUR_EYES)
    request = make_request(owner, tool_name="pay")
    carry()
    message = chat.message
    assert (message["answers"], message["token"], message["expires_at"]) == ([], None, None)
    assert message["text"].endswith("Open it in Pausepoint to answer.")
    assert stored(request).status == "pending"


def test_a_rejection_asks_for_the_message_that_it_needs_and_the_token_survives_the_refusal(chat):
    approver = bob()
    linked(approver)
    rule_for(approver)
    PrioritySettings.objects.create(priority="normal", reason_required=True)
    make_request(alice())
    carry()
    reject = chat.message["answers"][-1]
    assert (reject["verdict"], reject["message"]) == ("reject", "required")
    refused = chat.answer(chat.message, "reject")
    assert (problem(refused), list(refused.json()["errors"])) == ((422, "invalid"), ["comment"])
    assert chat.answer(chat.message, "reject", message="Too much.").status_code == 200
    assert Decision.objects.get().comment == "Too much."


def test_questions_are_answered_by_an_option_or_by_text(chat):
    owner = alice()
    linked(owner)
    rule_for(owner)
    options = [{"label": "Red"}, {"label": "Blue"}]
    first = make_request(owner, Kind.QUESTION, title="Colour?", options=options, input={})
    second = make_request(owner, Kind.QUESTION, title="Name?", input={})
    carry()
    by_title = {each["title"]: each for each in chat.shown.values()}
    labels = [(each["label"], each.get("option"), each["message"]) for each in by_title["Colour?"]["answers"]]
    assert labels == [("Red", 0, "none"), ("Blue", 1, "none"), ("Decline", None, "optional")]
    assert chat.answer(by_title["Colour?"], "respond", option=0).status_code == 200
    assert [each["label"] for each in by_title["Name?"]["answers"]] == ["Answer", "Decline"]
    assert chat.answer(by_title["Name?"], "respond", message="Ada").status_code == 200
    assert (stored(first).decision.answer["selected"], stored(second).decision.answer) == (["Red"], "Ada")


def test_a_person_who_may_not_see_a_request_gets_no_message(chat):
    stranger = mallory()
    linked(stranger)
    rule_for(stranger)
    make_request(alice())
    carry()
    assert chat.got == []
