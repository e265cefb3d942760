"""Requests that wait are followed up: reminders and escalation, each once and in order, on record and to the right people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail

from approvals.actions.policy.duty import reminders
from approvals.background import sweep
from approvals.db import due
from approvals.models import ApprovalRequest, AuditEntry, FollowUp, OutboxEvent, TeamSettings
from approvals.policy.terms import FollowUpStep, Stage, Terms
from approvals.policy.terms import VoterGroup as Voters
from approvals.states import Channel, Verdict
from tests.approvals.actions.test_races import race
from tests.support.desk.away import away
from tests.support.desk.carrying import carry, group_of, sent, tell, with_address
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, events, make_request, make_workflow
from tests.support.desk.waiting import ask_under, steps_of, walk_to
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")
#: A Friday before the night in which the clocks of Berlin are put back, far enough away that no sweep of ours comes to it.
FRIDAY = datetime(2098, 10, 24, 15, tzinfo=BERLIN).astimezone(UTC)
THREE = Terms(reminders=(3600, 3 * 3600), escalation=(FollowUpStep(after=2 * 3600, people=(1,)),))


def test_each_step_happens_once_and_in_order():
    request = ask_under(THREE, alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR - timedelta(seconds=1))
    assert steps_of(request) == []
    walk_to(FRIDAY + HOUR)
    walk_to(FRIDAY + HOUR)
    assert steps_of(request) == [("reminded", 1)]
    walk_to(FRIDAY + 2 * HOUR)
    assert steps_of(request) == [("reminded", 1), ("escalated", 2)]
    walk_to(FRIDAY + 30 * HOUR)
    assert (steps_of(request), FollowUp.objects.count()) == (
        [("reminded", 1), ("escalated", 2), ("reminded", 3)],
        0,
    )


def test_after_a_stop_of_all_servers_what_was_missed_comes_in_order_at_once():
    request = ask_under(THREE, alice(), at=datetime(2026, 1, 1, tzinfo=UTC))
    sweep.run_once()
    sweep.run_once()
    assert steps_of(request) == [("reminded", 1), ("escalated", 2), ("reminded", 3)]


def test_a_reminder_that_fails_holds_up_no_other(monkeypatch, caplog):
    monkeypatch.setattr(due, "BATCH", 2)
    past = datetime(2026, 1, 1, tzinfo=UTC)
    broken = [ask_under(THREE, alice_or_known(), at=past) for _ in range(5)]
    ApprovalRequest.objects.filter(pk__in=[request.pk for request in broken]).update(terms={"stages": "broken"})
    request = ask_under(THREE, alice_or_known(), at=past)
    reminders.carry_out_follow_ups()
    assert steps_of(request) == [("reminded", 1), ("escalated", 2), ("reminded", 3)]
    failed = [record.getMessage() for record in caplog.records if record.name == due.__name__]
    assert sorted(failed) == sorted(
        f"FollowUp {request.pk} could not be processed; it will be tried again" for request in broken
    )


@pytest.mark.django_db(transaction=True)
def test_of_many_sweeps_at_the_same_moment_one_carries_out_each_step():
    requests = [ask_under(THREE, alice_or_known(), at=datetime(2026, 1, 1, tzinfo=UTC)) for _ in range(4)]
    results = race(*([reminders.carry_out_follow_ups] * 8))
    assert [result for result in results if isinstance(result, Exception)] == []
    reminders.carry_out_follow_ups()
    assert [steps_of(request) for request in requests] == [[("reminded", 1), ("escalated", 2), ("reminded", 3)]] * 4


def alice_or_known() -> User:
    return User.objects.filter(username="alice").first() or alice()


def test_a_request_that_has_ended_is_not_followed_up_and_its_row_goes():
    request = ask_under(THREE, alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    decide(request, bob(), Verdict.APPROVE)
    walk_to(FRIDAY + 2 * HOUR)
    assert (events(request), FollowUp.objects.count()) == (
        ["request.created", "request.reminded", "request.decided"],
        0,
    )


def test_a_request_without_such_terms_has_no_row():
    ask_under(Terms(veto=True), alice())
    make_request(User.objects.get(username="alice"))
    assert FollowUp.objects.count() == 0


def test_the_sweep_looks_at_what_is_due_alone():
    ask_under(THREE, alice(), at=FRIDAY)
    assert reminders.carry_out_follow_ups not in [duty.run for duty in sweep.find_due()]
    FollowUp.objects.update(due_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert reminders.carry_out_follow_ups in [duty.run for duty in sweep.find_due()]


def test_with_working_hours_a_step_comes_in_those_of_the_team_that_is_told():
    finance = Group.objects.create(name="finance")
    TeamSettings.objects.create(team=finance, working_hours="Mon-Fri 09:00-17:00", time_zone="Europe/Berlin")
    step = FollowUpStep(after=3 * 3600, teams=(finance.pk,))
    request = ask_under(Terms(escalation=(step,), working_hours=True), alice(), at=FRIDAY)
    # Two hours are left on Friday; the clock is put back in the night to Sunday.
    monday = datetime(2098, 10, 27, 10, tzinfo=BERLIN).astimezone(UTC)
    walk_to(monday - timedelta(seconds=1))
    assert steps_of(request) == []
    walk_to(monday)
    assert steps_of(request) == [("escalated", 1)]
    around_the_clock = ask_under(Terms(escalation=(step,)), User.objects.get(username="alice"), at=FRIDAY)
    walk_to(FRIDAY + 3 * HOUR)
    assert steps_of(around_the_clock) == [("escalated", 1)]


def test_the_record_and_programs_are_told_whom_a_request_was_escalated_to(settings):
    settings.HITL_EVENT_HANDLERS = ["tests.nowhere"]
    team = group_of(bob())
    step = FollowUpStep(after=60, teams=(team.pk,), people=(carol().pk,))
    request = ask_under(Terms(escalation=(step,)), alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    (entry,) = AuditEntry.objects.filter(event="request.escalated")
    expected = {"step": 1, "after_seconds": 60, "to": ["support", "carol"]}
    assert (entry.actor_name, entry.via, entry.data) == ("", "system", expected)
    row = OutboxEvent.objects.get(name="request.escalated", channel=Channel.HANDLER)
    assert {name: row.payload[name] for name in ("request_id", *expected)} == {"request_id": str(request.pk)} | expected


@pytest.mark.django_db(transaction=True)
def test_an_escalation_reaches_the_people_and_teams_it_names_who_may_see_the_request(settings):
    settings.HITL_MAIL = True
    team = group_of(with_address(bob()), with_address(mallory()))
    step = FollowUpStep(after=60, teams=(team.pk,), people=(with_address(carol()).pk,))
    ask_under(Terms(escalation=(step,)), alice(), at=FRIDAY, title="Refund 4711?")
    walk_to(FRIDAY + HOUR)
    carry()
    subject = "[Pausepoint] Refund 4711? (support)"
    assert sorted(sent()) == [(["bob@example.org"], subject), (["carol@example.org"], subject)]


@pytest.mark.django_db(transaction=True)
def test_a_reminder_goes_to_those_who_vote_or_else_to_everyone_who_was_told(settings):
    settings.HITL_MAIL = True
    team, auditor = group_of(with_address(bob())), with_address(carol())
    voters = (Stage(groups=(Voters(teams=(team.pk,)),)),)
    ask_under(Terms(stages=voters, reminders=(60,)), alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    carry()
    assert [to for (to,), _subject in sent()] == ["bob@example.org"]
    mail.outbox.clear()
    tell(auditor)
    ask_under(Terms(reminders=(60,)), User.objects.get(username="alice"), at=FRIDAY)
    OutboxEvent.objects.all().delete()
    walk_to(FRIDAY + HOUR)
    carry()
    assert [to for (to,), _subject in sent()] == ["carol@example.org"]


@pytest.mark.django_db(transaction=True)
def test_an_escalation_to_someone_away_goes_to_their_delegate_and_no_further(settings):
    settings.HITL_MAIL = True
    next_one = with_address(make_person("erin", "view_approvalrequest"))
    absent, delegate = with_address(bob()), with_address(carol())
    away(absent, delegate)
    away(delegate, next_one)
    ask_under(Terms(escalation=(FollowUpStep(after=60, people=(absent.pk,)),)), alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    carry()
    assert [to for (to,), _subject in sent()] == ["carol@example.org"]


@pytest.mark.django_db(transaction=True)
def test_who_has_voted_is_not_reminded(settings):
    settings.HITL_MAIL = True
    voter, other = bob(), make_person("erin", "decide_approvalrequest")
    team = group_of(with_address(voter), with_address(other))
    both = (Stage(groups=(Voters(teams=(team.pk,), votes=2),)),)
    request = ask_under(Terms(stages=both, reminders=(60,)), alice(), at=FRIDAY)
    decide(request, User.objects.get(pk=voter.pk), Verdict.APPROVE)
    walk_to(FRIDAY + HOUR)
    carry()
    assert [to for (to,), _subject in sent()] == ["erin@example.org"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("channels", "mails"), [((), 1), (("mail",), 1), (("push",), 0)])
def test_only_the_channels_of_the_terms_are_used(settings, channels, mails):
    settings.HITL_MAIL = True
    step = FollowUpStep(after=60, people=(with_address(bob()).pk,))
    ask_under(Terms(escalation=(step,), channels=channels), alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    carry()
    assert len(mail.outbox) == mails


def test_steps_of_requests_of_one_workflow_do_not_disturb_each_other():
    owner = alice()
    workflow = make_workflow(owner)
    first, second = (ask_under(THREE, owner, at=FRIDAY, workflow=workflow) for _ in range(2))
    walk_to(FRIDAY + 2 * HOUR)
    assert steps_of(first) == steps_of(second) == [("reminded", 1), ("escalated", 2)]


def test_the_audit_page_says_what_happened_in_words():
    step = FollowUpStep(after=120, people=(bob().pk,))
    request = ask_under(Terms(reminders=(60,), escalation=(step,)), alice(), at=FRIDAY)
    walk_to(FRIDAY + HOUR)
    auditor = make_person("carol", "view_approvalrequest", "view_auditentry")
    page = browser(auditor).get(f"/audit/?request={request.pk}").text
    assert ("Reminder sent" in page, "Escalated to bob" in page) == (True, True)
