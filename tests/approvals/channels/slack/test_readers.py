"""Cards in Slack show what their readers may see now: after changes of rights and scopes, and as absences begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.actions.channels import cards
from approvals.actions.policy import absence
from approvals.administration.scopes.actions import erase_scope
from approvals.background import sweep
from approvals.channels import posting
from approvals.models import (
    Absence,
    ApprovalRequest,
    ChannelCard,
    ChannelClick,
)
from approvals.models.channels import Shows
from approvals.states import Door, Verdict
from tests.support.desk.away import away
from tests.support.desk.carrying import later
from tests.support.desk.requests import cancel, decide, make_request
from tests.support.desk.scopes import make_scope
from tests.support.desk.slack import card_in, carry, connected, linked, rule_for, stored_card
from tests.support.people import alice, bob, make_person
from tests.support.slack import Slack
from tests.support.slack.faults import fails

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def due_again() -> None:
    past = timezone.now() - timedelta(seconds=1)
    for model in (ChannelCard, ChannelClick):
        model.objects.update(next_attempt_at=past)
    later()


def test_a_card_in_a_channel_loses_its_content_while_its_approvers_may_not_see_the_request(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice(), tool_name="pay")
    decided = make_request(request.requested_by, tool_name="pay", title="Decided?")
    card = card_in(slack, ops)
    ended = slack.message_with(ops, "Decided?")
    decide(decided, approver, Verdict.APPROVE)
    carry()
    assert ("amount: 120" in card.words, "Approved by bob" in ended.words) == (True, True)
    admin = User.objects.create_superuser("root")
    scope = make_scope(approver, by=admin, tools=["refund"])
    carry()
    words = "Its content is hidden, because not everyone here may see it any more."
    assert card.words.splitlines() == ["Request", words, "Open"]
    assert (list(card.buttons), "Decided?" in ended.words, "Approved by bob" in ended.words) == (
        ["pausepoint.open"],
        False,
        True,
    )
    make_scope(approver, by=admin, tools=["pay"])
    with transaction.atomic():
        erase_scope(scope.pk, by=admin, via=Door.DASHBOARD)
    carry()
    assert ("amount: 120" in card.words, "pausepoint.approve" in card.buttons) == (True, True)


def test_a_card_that_is_shown_while_rights_change_is_looked_at_again(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice())
    row = stored_card(card_in(slack, ops))
    assert (row.synced_at, cards.claim(row)) == (request.changed_at, True)
    cards.look_again()
    cards.card_shown(row, look=row.look, synced_at=request.changed_at, ended=False, reported=False)
    assert ChannelCard.objects.get().synced_at is None
    due_again()
    carry()
    assert ChannelCard.objects.get().synced_at == request.changed_at


def test_a_change_of_rights_costs_two_statements_and_no_look_at_ended_cards_without_content(slack):
    approver = bob()
    other = make_person("dora", "decide_approvalrequest")
    stand_in = make_person("erin", "decide_approvalrequest")
    for person in (approver, other, stand_in):
        linked(slack, person)
        rule_for(person)
    rule_for(approver, slack.channel("titles"), Shows.TITLE)
    rule_for(approver, slack.channel("ops"))
    owner = alice()
    for title in ("Ended?", "Waiting?"):
        make_request(owner, title=title)
    carry()
    decide(ApprovalRequest.objects.get(title="Ended?"), approver, Verdict.APPROVE)
    carry()
    away(approver, stand_in)

    def due(people=None) -> list[tuple[str, str, str]]:
        with CaptureQueriesContext(connection) as statements:
            cards.look_again(people)
        # Cards, and the messages of relays.
        assert len(statements) == 2
        rows = [
            (row.request.title, row.person.username if row.person else "", row.shows)
            for row in posting.due_cards(timezone.now()).select_related("person", "request")
        ]
        carry()
        return sorted(rows)

    direct = [("bob", "input"), ("dora", "input"), ("erin", "input")]
    ended = [("Ended?", "", "input")]
    waiting = [("Waiting?", "", "input"), ("Waiting?", "", "title")]
    both = [(title, *each) for title in ("Ended?", "Waiting?") for each in direct]
    assert due() == sorted([*ended, *waiting, *both])
    of_people = [each for each in both if each[1] in {"bob", "erin"}]
    assert due({approver.pk}) == sorted([*ended, *waiting, *of_people])
    other.user_permissions.clear()
    approver.user_permissions.clear()
    assert due() == sorted([*ended, *waiting, *both])
    assert due() == sorted([*waiting, *[each for each in both if each[0] == "Waiting?" or each[1] == "erin"]])
    hidden = ChannelCard.objects.filter(hidden=True, ended=True)
    approver.user_permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
    assert (due() != [], hidden.count()) == (True, 3)


def test_the_start_and_the_end_of_an_absence_show_and_hide_the_cards_of_its_delegate(slack):
    approver = bob()
    stand_in = make_person("erin", "decide_approvalrequest")
    linked(slack, approver)
    ops = slack.channel("ops", linked(slack, stand_in))
    rule_for(stand_in, ops)
    admin = User.objects.create_superuser("root")
    make_scope(approver, by=admin, tools=["pay"])
    absence_row = away(approver, stand_in)
    ended = make_request(alice(), tool_name="pay", title="Ended?")
    make_request(ended.requested_by, tool_name="pay", title="Waiting?")
    sweep_absences()
    card = card_in(slack, ops, "Waiting?")
    over = slack.message_with(ops, "Ended?")
    decide(ended, admin, Verdict.APPROVE)
    carry()
    assert ("amount: 120" in card.words, "amount: 120" in over.words, absence_is_due()) == (True, True, False)
    pass_until(absence_row)
    assert absence_is_due()
    sweep_absences()
    carry()
    assert ("amount: 120" in card.words, "amount: 120" in over.words, absence_is_due()) == (False, False, False)
    again = away(approver, stand_in, since=-timedelta(days=1), for_=timedelta(days=2))
    sweep_absences()
    carry()
    assert ("amount: 120" in card.words, absence_is_due()) == (False, False)
    start(again)
    sweep_absences()
    carry()
    assert ("amount: 120" in card.words, "amount: 120" in over.words) == (True, False)
    absence.end_absence(again.pk, by=approver, via=Door.DASHBOARD)
    carry()
    assert "amount: 120" not in card.words


def absence_is_due() -> bool:
    return absence.look_at_cards.__qualname__ in {duty.run.__qualname__ for duty in sweep.find_due()}


def sweep_absences() -> None:
    for duty in sweep.find_due():
        if duty.run is absence.look_at_cards:
            duty.run()


def pass_until(row: Absence) -> None:
    """Let the end of an absence be a moment ago, which its cards were waiting for."""
    moment = timezone.now() - timedelta(seconds=1)
    Absence.objects.filter(pk=row.pk, cards_due_at=row.until).update(until=moment, cards_due_at=moment)


def start(row: Absence) -> None:
    moment = timezone.now() - timedelta(seconds=1)
    Absence.objects.filter(pk=row.pk, cards_due_at=row.starts_at).update(starts_at=moment, cards_due_at=moment)


def test_many_changes_of_rights_and_a_failure_of_slack_do_not_end_the_updates_of_a_card(slack):
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    request = make_request(alice())
    card = card_in(slack, ops)
    for _ in range(cards.MOST_ATTEMPTS):
        cards.look_again()
    slack.will("chat.update", fails("internal_error"))
    decide(request, approver, Verdict.APPROVE)
    carry()
    due_again()
    carry()
    assert "Approved by bob" in card.words


def test_a_person_who_may_no_longer_see_a_request_is_left_its_end(slack):
    approver = bob()
    linked(slack, approver)
    rule_for(approver)
    request = make_request(alice())
    carry()
    row = ChannelCard.objects.get()
    card = slack.workspace.message(row.channel_id, row.message_ts)
    assert "amount: 120" in card.words
    approver.user_permissions.clear()
    cancel(request, request.requested_by)
    carry()
    assert ("May I?" in card.words, "amount" in card.words, "Cancelled by alice" in card.words) == (False, False, True)
