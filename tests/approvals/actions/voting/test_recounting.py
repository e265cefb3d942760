"""Votes are counted anew when the right to vote has changed: by the sweep, in batches, and never during a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.actions.policy.absence import Away, end_absence, set_absence
from approvals.actions.policy.votes.recount import BATCH, due_recounts, recount_votes
from approvals.administration.people.actions import add_person, change_person, give_roles, remove_team, set_active
from approvals.administration.scopes.actions import delete_scope, store_scope, terms_of
from approvals.exceptions import AlreadyDecided
from approvals.models import ApprovalRequest, AuditEntry, Decision, Vote, VoteRecount
from approvals.models.people import RoleName
from approvals.policy.terms import Stage, Terms
from approvals.states import Door, Verdict
from tests.support.desk.requests import decisions, events, make_request, make_workflow, stored
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import both, group, make_team, make_voted, progress_of, vote, votes_of
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db


def approver(name: str) -> User:
    person = make_person(name)
    give_roles(person, [RoleName.APPROVER])
    return again(person)


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def people() -> list[User]:
    return [approver(name) for name in ("dec0", "dec1", "dec3")]


@pytest.fixture
def payment(people):
    """Needs two votes of finance (dec0 and dec3), and one of security (dec1)."""
    finance, security = make_team("Finance", people[0], people[2]), make_team("Security", people[1])
    return make_voted(alice(), both(group(finance, votes=2), group(security)))


def move(person: User, teams: list[str], by: User, roles: tuple[str, ...] = (RoleName.APPROVER,)) -> None:
    """Let a person be in exactly these teams, as an administrator does."""
    ids = Team.objects.filter(name__in=teams).values_list("pk", flat=True)
    change_person(person.pk, email=person.email, roles=roles, team_ids=list(ids), by=by)


def test_who_leaves_their_team_and_comes_back_leaves_no_request_stuck(payment, people, root):
    dec0, dec1, dec3 = people
    vote(payment, dec0)
    vote(payment, dec1)
    move(dec0, [], root)
    vote(payment, again(dec3))
    assert progress_of(payment) == "2 of 3, Finance missing"
    move(dec0, ["Finance"], root)
    # As it stays until the sweep.
    assert (progress_of(payment), stored(payment).status) == ("All votes are in", "pending")
    recount_votes()
    (decision,) = decisions(payment)
    assert (stored(payment).status, decision.by_name, decision.via) == ("approved", "dec3", Door.DASHBOARD)
    assert VoteRecount.objects.count() == 0
    assert set(Vote.objects.filter(request=payment.pk).values_list("counted", flat=True)) == {True}


def test_who_is_deactivated_and_activated_again_leaves_no_request_stuck(payment, people, root):
    dec0, dec1, dec3 = people
    vote(payment, dec0)
    vote(payment, dec1)
    set_active(dec0.pk, active=False, by=root)
    recount_votes()
    vote(payment, dec3)
    assert stored(payment).status == "pending"
    set_active(dec0.pk, active=True, by=root)
    recount_votes()
    assert (stored(payment).status, len(decisions(payment))) == ("approved", 1)


def test_a_vote_that_comes_before_the_count_ends_the_request_with_those_that_are_in(payment, people, root):
    dec0, dec1, dec3 = people
    vote(payment, dec0)
    vote(payment, dec1)
    move(dec0, [], root)
    vote(payment, dec3)
    move(dec0, ["Finance"], root)
    late = approver("late")
    move(late, ["Finance"], root)
    with pytest.raises(AlreadyDecided):
        vote(payment, again(late), Verdict.REJECT)
    assert (stored(payment).status, [name for name, _verdict in votes_of(payment)]) == (
        "approved",
        ["dec0", "dec1", "dec3"],
    )
    recount_votes()
    assert events(payment).count("request.decided") == 1


def test_the_record_says_that_the_votes_were_counted_anew(payment, people, root):
    dec0, dec1, dec3 = people
    for person in (dec0, dec1):
        vote(payment, person)
    move(dec0, [], root)
    vote(payment, dec3)
    move(dec0, ["Finance"], root)
    recount_votes()
    entry = AuditEntry.objects.get(request_id=payment.pk, event="request.decided")
    assert (entry.actor_name, entry.data["verdict"], entry.data["recounted"]) == ("dec3", "approve", True)


def test_a_rejection_ends_a_request_once_those_who_could_still_approve_have_gone(people, root):
    dec0, dec1, dec3 = people
    team = make_team("Finance", *people)
    payment = make_voted(alice(), both(group(team, votes=2)))
    vote(payment, dec0, Verdict.REJECT, comment="Too much.")
    assert stored(payment).status == "pending"
    move(dec3, [], root)
    recount_votes()
    (decision,) = decisions(payment)
    assert (stored(payment).status, decision.by_name, decision.comment) == ("rejected", "dec0", "Too much.")
    assert dec1.pk != decision.by_id


def test_the_veto_of_someone_who_comes_back_counts(people, root):
    dec0, _dec1, dec3 = people
    team = make_team("Finance", dec0, dec3)
    terms = Terms(stages=(Stage(groups=(group(team, votes=1),)), Stage(groups=(group(dec3),))), veto=True)
    payment = make_voted(alice(), terms)
    Vote.objects.create(
        request=payment, person_id=dec0.pk, person_name="dec0", verdict="reject", digest=payment.input_digest,
        stage=0, via="dashboard", voted_at=payment.created_at,
    )  # fmt: skip
    move(dec0, [], root)
    recount_votes()
    assert stored(payment).status == "pending"
    move(dec0, ["Finance"], root)
    recount_votes()
    assert stored(payment).status == "rejected"


def test_a_limit_that_is_lowered_and_raised_again_leaves_no_request_stuck(people, root):
    dec0, dec1, dec3 = people
    wide = make_scope(dec0, by=root, limit=1_000)
    make_scope(dec1, dec3, by=root)
    payment = make_voted(alice(), both(group(votes=2)))
    vote(payment, again(dec0))
    store_scope(wide.pk, replace(terms_of(wide), limit=1), by=root, via=Door.DASHBOARD)
    vote(payment, again(dec1))
    assert stored(payment).status == "pending"
    store_scope(wide.pk, replace(terms_of(wide), limit=1_000), by=root, via=Door.DASHBOARD)
    recount_votes()
    assert stored(payment).status == "approved"


def test_every_change_of_who_may_decide_asks_for_a_count_and_adds_one_row_only(people, root):
    dec0, dec1, _dec3 = people
    team = make_team("Finance", dec0)
    made: dict[str, Any] = {}

    def changed(name: str, change: Callable[[], Any]) -> int:
        before = VoteRecount.objects.count()
        made[name] = change()
        return VoteRecount.objects.count() - before

    until = timezone.now() + timedelta(days=1)
    counts = [
        changed("team", lambda: move(dec1, ["Finance"], root)),
        changed("role", lambda: move(dec1, [], root, roles=(RoleName.AUDITOR,))),
        changed("away", lambda: set_absence(dec0, Away(until=until), by=dec0, via=Door.DASHBOARD)),
        changed("back", lambda: end_absence(made["away"].pk, by=dec0, via=Door.DASHBOARD)),
        changed("off", lambda: set_active(dec1.pk, active=False, by=root)),
        changed("new", lambda: add_person(username="new", email="", roles=[RoleName.APPROVER], by=root)),
        changed("scope", lambda: make_scope(dec0, by=root)),
        changed("no scope", lambda: delete_scope(made["scope"].pk, by=root, via=Door.DASHBOARD)),
        changed("no team", lambda: remove_team(team.pk, by=root)),
    ]
    assert counts == [1] * 9
    unchanged = [changed("same", lambda: move(dec0, [], root)), changed("asked", lambda: make_request(alice()))]
    assert unchanged == [0, 0]


def test_a_count_takes_batches_and_as_many_statements_for_full_ones_as_for_one(people):
    """Counting costs statements per batch, not per request."""
    owner, (dec0, dec1, dec3) = alice(), people
    team = make_team("Finance", dec0, dec1, dec3)
    workflow = make_workflow(owner)
    first = vote_on(make_voted(owner, both(group(team, votes=2)), workflow=workflow), dec0)
    one = counted()
    copies(first, 2 * BATCH)
    assert ApprovalRequest.objects.filter(status="pending").count() == 2 * BATCH + 1
    # Two full batches and the rest; the last mark removes the row.
    assert counted() <= 3 * one
    assert (due_recounts().count(), Decision.objects.count()) == (0, 0)


def vote_on(request: ApprovalRequest, person: User) -> ApprovalRequest:
    vote(request, person, Verdict.REJECT)
    return request


def copies(request: ApprovalRequest, number: int) -> None:
    """Store as many requests like this one, each with its votes."""
    row, votes = ApprovalRequest.objects.get(pk=request.pk), list(Vote.objects.filter(request=request.pk))
    ids = [uuid4() for _ in range(number)]
    requests = []
    for pk in ids:
        row.pk = pk
        requests.append(
            type(row)(**{field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields})
        )
    ApprovalRequest.objects.bulk_create(requests)
    Vote.objects.bulk_create(
        Vote(**{field.attname: getattr(each, field.attname) for field in each._meta.concrete_fields
                if field.attname not in {"id", "request_id"}}, request_id=pk)
        for pk in ids for each in votes
    )  # fmt: skip


def counted() -> int:
    VoteRecount.objects.create()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        recount_votes()
    return len(queries)


def test_a_count_that_was_interrupted_goes_on_where_it_was(people):
    owner, (dec0, *_rest) = alice(), people
    first = vote_on(make_voted(owner, both(group(votes=2))), dec0)
    copies(first, BATCH + 10)
    VoteRecount.objects.create()
    rows = list(ApprovalRequest.objects.order_by("created_at", "id")[:BATCH])
    VoteRecount.objects.update(
        answers=[VoteRecount.objects.get().pk], counted_created_at=rows[-1].created_at, counted_id=rows[-1].pk
    )
    later = VoteRecount.objects.create()
    with CaptureQueriesContext(connection) as queries:
        recount_votes()
    assert (VoteRecount.objects.filter(pk=later.pk).exists(), VoteRecount.objects.count()) == (False, 0)
    locking = [query["sql"] for query in queries if query["sql"].startswith('SELECT "approvals_vote"')]
    # The rest of the first count, and all batches of the second, for the later change.
    assert len(locking) == 1 + 2


def test_a_request_that_cannot_be_ended_holds_up_no_other_and_is_tried_again(people, root):
    dec0, dec1, dec3 = people
    team = make_team("Finance", dec0, dec3)
    owner = alice()
    requests = [make_voted(owner, both(group(team, votes=2))) for _ in range(3)]
    for request in requests:
        vote(request, again(dec0))
    move(dec0, [], root)
    for request in requests:
        vote(request, again(dec3))
    # As if its decision had been written past the product: its end fails on the unique row.
    Decision.objects.create(request=requests[0], verdict="approve", via="web", decided_at=timezone.now())
    move(dec0, ["Finance"], root)
    recount_votes()
    assert [stored(request).status for request in requests] == ["pending", "approved", "approved"]
    # Asked for again, for the next second.
    assert VoteRecount.objects.count() == 1
    assert dec1.is_active
