"""Grants end: by a person, by their giver's rights, by the limits of their tool; and everything can be asked at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import Error, connection, transaction
from django.db.models.functions import Now

from approvals.actions.policy import ask_about_everything, end_due_grants, revoke_grant
from approvals.administration.tools.actions import store_tool_settings
from approvals.db.append_only import maintenance
from approvals.exceptions import Conflict, NotAllowed, NotFound
from approvals.models import ApprovalRequest, AskAlways, AuditEntry, Grant
from approvals.queries.policy.grants.grant_sql import due_grants
from approvals.states import Door, Width
from tests.approvals.actions.policy.granting import ask, give, in_an_hour, terms
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def deactivate(giver: User) -> None:
    User.objects.filter(pk=giver.pk).update(is_active=False)


def remove(giver: User) -> None:
    giver.user_permissions.clear()
    User.objects.filter(pk=giver.pk).delete()


def take_right(giver: User) -> None:
    giver.user_permissions.remove(Permission.objects.get(codename="decide_approvalrequest"))


def let_time_pass(_giver: User) -> None:
    with maintenance(connection, "test"):
        Grant.objects.update(until=Now() - timedelta(milliseconds=1))


def limited(**limits: object):
    def limit(giver: User) -> None:
        store_tool_settings("refund", limits, by=giver)

    return limit


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (deactivate, "giver_left"),
        (remove, "giver_left"),
        (take_right, "right_lost"),
        (let_time_pass, "expired"),
        (limited(no_grants=True), "beyond_limit"),
        (limited(grant_width=Width.INPUT), "beyond_limit"),
        (limited(grant_width=Width.FIELDS), "beyond_limit"),
        (limited(grant_uses=9), "beyond_limit"),
        (limited(grant_seconds=3_000), "beyond_limit"),
        (limited(grant_uses=10, grant_seconds=3_600, grant_width=Width.TOOL), ""),
        (limited(min_priority="high"), ""),
    ],
)
def test_a_grant_approves_nothing_from_then_on_and_the_sweep_ends_it(change, why):
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(Width.TOOL, uses=10, until=in_an_hour()))
    change(decider)
    assert ask(asker).status == ("pending" if why else "approved")
    assert due_grants(Now()).exists() == bool(why)
    end_due_grants()
    end_due_grants()
    given.refresh_from_db()
    assert (given.ended_why, given.ended_at is None) == (why, not why)
    ended = [entry.data["why"] for entry in AuditEntry.objects.filter(event="grant.ended")]
    assert ended == [why] * bool(why)


@pytest.mark.parametrize(
    ("limits", "given"),
    [({"grant_uses": 5}, {"until": "hour"}), ({"grant_seconds": 86_400}, {"uses": 5})],
)
def test_a_grant_without_a_term_is_beyond_the_limit_of_that_term(limits, given):
    asker, decider = alice(), bob()
    give(decider, asker, terms(**{name: in_an_hour() if value == "hour" else value for name, value in given.items()}))
    assert ask(asker).status == "approved"
    store_tool_settings("refund", limits, by=decider)
    assert ask(asker).status == "pending"
    end_due_grants()
    assert Grant.objects.get().ended_why == "beyond_limit"


def test_a_tool_that_runs_what_it_is_told_falls_back_to_exact_inputs():
    asker, decider = alice(), bob()
    store_tool_settings("Bash", {"grant_width": Width.TOOL}, by=decider)
    give(decider, asker, terms(Width.TOOL), tool="Bash")
    assert ask(asker, {"command": "ls"}, tool="Bash").status == "approved"
    store_tool_settings("Bash", {"grant_width": None}, by=decider)
    assert ask(asker, {"command": "ls"}, tool="Bash").status == "pending"
    end_due_grants()
    assert Grant.objects.get().ended_why == "beyond_limit"


def test_a_revoked_grant_says_who_ended_it_and_stays_so():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    other = make_person("dan", "decide_approvalrequest")
    revoke_grant(given.pk, by=other, via=Door.DASHBOARD)
    revoke_grant(given.pk, by=decider, via=Door.DASHBOARD)
    given.refresh_from_db()
    assert (given.ended_why, given.ended_by_id, given.ended_by_name) == ("revoked", other.pk, "dan")
    assert [entry.actor_name for entry in AuditEntry.objects.filter(event="grant.revoked")] == ["dan"]
    assert ask(asker).status == "pending"
    end_due_grants()
    given.refresh_from_db()
    assert given.ended_why == "revoked"


def test_who_may_revoke_a_grant():
    asker, decider, auditor, stranger = alice(), bob(), carol(), mallory()
    administrator = make_person("ada", "administer", "view_approvalrequest")
    for person, refusal in ((stranger, NotFound), (auditor, NotAllowed)):
        given = give(decider, asker, terms(), {"for": person.username})
        with pytest.raises(refusal):
            revoke_grant(given.pk, by=person, via=Door.DASHBOARD)
    for person in (asker, decider, administrator):
        given = give(decider, asker, terms(), {"for": person.username})
        assert revoke_grant(given.pk, by=person, via=Door.DASHBOARD).ended_by_name == person.username


def test_everything_is_asked_while_the_switch_is_on_and_both_are_on_record():
    asker, decider = alice(), bob()
    give(decider, asker, terms())
    with pytest.raises(NotAllowed):
        ask_about_everything(on=True, by=asker, via=Door.DASHBOARD)
    ask_about_everything(on=True, reason=" Something is odd ", by=decider, via=Door.DASHBOARD)
    with pytest.raises(Conflict):
        ask_about_everything(on=True, by=decider, via=Door.DASHBOARD)
    assert (AskAlways.objects.get().by_name, ask(asker).status) == ("bob", "pending")
    assert not due_grants(Now()).exists()
    ask_about_everything(on=False, by=make_person("ada", "administer"), via=Door.DASHBOARD)
    with pytest.raises(Conflict):
        ask_about_everything(on=False, by=decider, via=Door.DASHBOARD)
    assert ask(asker).status == "approved"
    entries = AuditEntry.objects.filter(event__in=["grant.stopped", "grant.resumed"]).order_by("pk")
    assert [(entry.event, entry.actor_name, entry.data["reason"]) for entry in entries] == [
        ("grant.stopped", "bob", "Something is odd"),
        ("grant.resumed", "ada", ""),
    ]


@pytest.mark.parametrize(
    "change", [{"uses": 99}, {"until": None}, {"tool_name": "other"}, {"target": ""}, {"given_by_name": "mallory"}]
)
def test_the_terms_of_a_grant_are_frozen_in_the_database(change):
    given = give(bob(), alice(), terms(uses=1, until=in_an_hour()))
    with pytest.raises(Error), transaction.atomic():
        Grant.objects.filter(pk=given.pk).update(**change)
    with pytest.raises(Error), transaction.atomic():
        Grant.objects.filter(pk=given.pk).delete()
    with pytest.raises(Error), transaction.atomic():
        Grant.objects.filter(pk=given.pk).update(used=2)
    assert ApprovalRequest.objects.count() == 1
