"""Clicks on cards in Teams end in the one decision path, and their authors see the outcome at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from approvals.models import ChannelAccount, ChannelCard, ChannelClick, ChannelConnection, Decision, Preferences
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, stored
from tests.support.desk.slack import carry, outcomes
from tests.support.desk.teams import card_in, connected, linked, rule_for
from tests.support.desk.votes import both, group, make_team, make_voted
from tests.support.people import alice, bob
from tests.support.teams import Teams
from tests.support.teams.cards import buttons, titles, words

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with connected(settings) as teams:
        yield teams


def test_an_approval_in_a_channel_decides_and_every_reader_sees_it(teams):
    approver = bob()
    person = linked(teams, approver)
    reader = teams.person("carol")
    ops = teams.channel("ops")
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay", input={"amount": 120})
    card = card_in(teams, ops)
    assert titles(card.card) == ["Approve", "Approve with changes…", "Reject…", "Open"]
    assert "amount: 120" in card.words
    person.click(card, "Approve")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.by_id, decision.via) == ("approve", approver.pk, "teams")
    assert (titles(person.card(card)), "Approved by bob" in person.words(card)) == (["Open"], True)
    carry()
    assert ("via Microsoft Teams" in reader.words(card), titles(reader.card(card))) == (True, ["Open"])
    assert (outcomes(), stored(request).status, ChannelCard.objects.get().ended) == (["decided"], "approved", True)


def test_a_rejection_carries_its_words_and_a_second_click_is_told_who_was_faster(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(teams, ops)
    late = person.activity(card, "Approve")
    person.click(card, "Reject", reject_comment="Too much.")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.comment, decision.via) == ("reject", "Too much.", "teams")
    person.send(card, late)
    assert outcomes() == ["decided", "already_decided"]
    assert "rejected" in person.lines[-1].lower()
    assert "bob" in person.lines[-1]


def test_an_unlinked_person_gets_a_link_that_only_they_see_and_clicks_again(teams):
    approver = bob()
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(teams, ops)
    person = teams.person("bob")
    before = dict(card.card)
    person.click(card, "Approve")
    address = buttons(person.card(card))["Link my account"].action["url"]
    assert (Decision.objects.count(), card.card) == (0, before)
    path = address.removeprefix("https://desk.example.org")
    client = browser(approver)
    assert "Link your account in Microsoft Teams" in client.get(path).content.decode()
    assert client.post(path).status_code == 302
    account = ChannelAccount.objects.get()
    assert (account.user, account.external_id, account.team_id, account.name) == (
        approver,
        person.id,
        teams.tenant,
        "bob",
    )
    person.click(card, "Show the request")
    person.click(card, "Approve")
    assert (outcomes(), Decision.objects.get().by_id) == (["unlinked", "decided"], approver.pk)


def test_a_person_who_may_no_longer_decide_is_told_so_at_the_click(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(teams, ops)
    approver.user_permissions.clear()
    person.click(card, "Approve")
    approver.is_active = False
    approver.save()
    person.click(card, "Approve")
    assert (Decision.objects.count(), outcomes()[-1]) == (0, "inactive")
    assert "deactivated" in person.lines[-1]


def test_a_changed_request_is_not_decided_by_its_old_card(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    make_request(alice())
    card = card_in(teams, ops)
    activity = person.activity(card, "Approve")
    digest = activity["value"]["action"]["data"]["digest"]
    activity["value"]["action"]["data"]["digest"] = f"sha256:{digest[7:][::-1]}"
    person.send(card, activity)
    assert (outcomes(), Decision.objects.count()) == (["changed"], 0)


def test_changes_are_entered_on_the_card_and_wrong_ones_are_named(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    schema = {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "currency": {"enum": ["EUR", "USD"]}},
        "required": ["amount", "currency"],
    }
    values = {"amount": 120, "currency": "EUR"}
    make_request(alice(), tool_name="pay", input=values, response_schema=schema)
    card = card_in(teams, ops)
    person.click(card, "Change and approve", edit_0="many")
    assert (Decision.objects.count(), ChannelClick.objects.count()) == (0, 0)
    assert "amount" in person.lines[-1].lower()
    person.click(card, "Change and approve", edit_0="99.5", edit_1="1", edit_comment="Less.")
    decision = Decision.objects.get()
    assert (decision.verdict, decision.edited_input, decision.comment) == (
        "edit",
        {"amount": 99.5, "currency": "USD"},
        "Less.",
    )


def test_questions_are_answered_by_option_by_text_and_by_several_choices(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    options = [{"label": "**Gare** du Nord"}, {"label": "Bastille"}]
    asker = alice()
    make_request(asker, kind=Kind.QUESTION, title="Which hotel?", options=options)
    make_request(asker, kind=Kind.QUESTION, title="Why?")
    make_request(
        asker, kind=Kind.QUESTION, title="Which ones?", options=[*options[1:], {"label": "Opera"}], multiple=True
    )
    carry()
    hotel, why, ones = (card_in(teams, ops, title) for title in ("Which hotel?", "Why?", "Which ones?"))
    assert titles(hotel.card) == ["**Gare** du Nord", "Bastille", "Decline…", "Open"]
    person.click(hotel, "**Gare** du Nord")
    person.click(why, "Answer", answer_0="Because.")
    person.click(ones, "Answer", answer_0="0,1")
    answers = list(Decision.objects.order_by("pk").values_list("answer", flat=True))
    hotel_answer, why_answer, ones_answer = answers
    assert hotel_answer["selected"] == ["**Gare** du Nord"]
    assert (why_answer, ones_answer["selected"]) == ("Because.", ["Bastille", "Opera"])


def test_votes_count_and_the_card_says_how_many_are_missing(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    finance = make_team("finance", approver)
    rule_for(approver, ops)
    make_voted(alice(), both(group(finance, votes=2)), title="Pay the rent")
    card = card_in(teams, ops, "Pay the rent")
    person.click(card, "Approve")
    assert (outcomes(), Decision.objects.count(), "counted" in person.lines[-1]) == (["voted"], 0, True)
    carry()
    assert "1 of 2" in card.words


def test_a_click_that_the_process_did_not_carry_out_is_carried_out_by_the_sweep_and_told_in_person(teams):
    approver = bob()
    person = linked(teams, approver)
    ops = teams.channel("ops")
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(teams, ops)
    ChannelClick.objects.create(
        connection=ChannelConnection.objects.get(),
        key="stored before the process ended",
        team_id=teams.tenant,
        external_id=person.id,
        channel_id=ops.id,
        message_ts=card.id,
        data={"action": "approve", "request": str(request.pk), "digest": "sha256:" + "0" * 64},
    )
    carry()
    [line] = teams.personal(person).messages
    assert (outcomes(), "changed" in line.words) == (["changed"], True)


def test_direct_messages_are_in_the_language_of_the_person(teams):
    approver = bob()
    person = linked(teams, approver)
    Preferences.objects.create(person=approver, language="de")
    rule_for(approver)
    request = make_request(alice())
    carry()
    [card] = teams.personal(person).messages
    assert "Ablehnen…" in titles(card.card)
    decide(request, approver, Verdict.APPROVE)
    carry()
    assert (titles(card.card), "bob" in words(card.card)) == (["Öffnen"], True)
