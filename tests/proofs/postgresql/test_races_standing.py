"""Rights under real locks: no two changes together widen more than either may, and a lost right decides nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from approvals import actions
from approvals.access.rights import ADMINISTER, DECIDE
from approvals.access.standing import standing_of
from approvals.actions.locking import lock_known_workflow
from approvals.actions.policy.votes.recount import recount_votes
from approvals.administration.people.actions import change_person, give_roles, set_active
from approvals.administration.scopes.actions import ScopeTerms, store_scope
from approvals.asking.answers import Answer
from approvals.exceptions import NotAllowed, Refusal
from approvals.models import ApprovalRequest, ApproverScope, Decision, PendingChange, RequestComment, Vote
from approvals.models.actors import Actor
from approvals.models.people import RoleName
from approvals.states import Door, Verdict
from tests.approvals.access.test_standing import (
    OUT,
    change_key,
    change_password,
    deactivate,
    end_session,
    in_a_browser,
    take_right,
    with_a_key,
)
from tests.proofs.postgresql.racing import Act, failures, race
from tests.support.desk.requests import make_request, stored
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import both, group, make_team, make_voted, vote
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 300


@pytest.fixture
def dora() -> User:
    """Approves and administers."""
    person = make_person("dora")
    give_roles(person, [RoleName.APPROVER, RoleName.ADMINISTRATOR])
    return again(person)


def test_no_one_joins_a_team_while_making_a_scope_that_names_it(dora):
    """Either alone is allowed; both would be a scope for oneself. So the scope waits, or is refused."""
    root = User.objects.create_superuser("root")
    make_scope(make_person("erin", "decide_approvalrequest"), by=root)
    team, roles = Team.objects.create(name="Finance"), [RoleName.APPROVER, RoleName.ADMINISTRATOR]
    terms = ScopeTerms(name="Unlimited", teams=[team])
    for _round in range(ROUNDS):
        one, other = again(dora), again(dora)
        joined, stored = race(
            lambda one=one: change_person(dora.pk, email="", roles=roles, team_ids=[team.pk], by=one),
            lambda other=other: store_scope(None, terms, by=other, via=Door.DASHBOARD),
        )
        assert failures([joined, stored], NotAllowed) == []
        assert isinstance(stored, NotAllowed | PendingChange)
        # The waiting change is for someone else, and shows nothing yet.
        assert (joined, ApproverScope.objects.count()) == ([], 1)
        team.user_set.clear()
        PendingChange.objects.all().delete()


def works(request: ApprovalRequest) -> dict[str, Callable[[Actor], object]]:
    via = Door.REST
    return {
        "decide": lambda by: actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=via),
        "cancel": lambda by: actions.cancel(request.pk, by=by, via=via),
        "claim": lambda by: actions.claim(request.pk, by=by, via=via),
        "comment": lambda by: actions.comment(request.pk, by=by, via=via, text="Wait."),
    }


LOSSES = [
    (in_a_browser, deactivate, OUT),
    (in_a_browser, take_right, "not_allowed"),
    (in_a_browser, end_session, OUT),
    (in_a_browser, change_password, OUT),
    (with_a_key, deactivate, OUT),
    (with_a_key, take_right, "not_allowed"),
    (with_a_key, change_key(revoked_at="2026-01-01T00:00:00Z"), OUT),
    (with_a_key, change_key(expires_at=Now()), OUT),
    (with_a_key, change_key(scopes=["read"]), "scope_missing"),
]


@pytest.mark.parametrize(("make", "loss", "code"), LOSSES)
@pytest.mark.parametrize("needs_votes", [False, True])
def test_whoever_loses_it_while_their_call_waits_for_the_lock_does_nothing(make, loss, code, needs_votes):
    owner, actor = alice(), make()
    request = make_voted(owner, both(group(votes=2))) if needs_votes else make_request(owner, tool_name="pay")
    assert DECIDE in standing_of(actor).rights
    acts = {name: Act(lambda work=work: work(actor)) for name, work in works(request).items()}
    # One after the other.
    told = {}
    with transaction.atomic():
        lock_known_workflow(request.workflow_id)
        act = acts.pop("decide").begun()
        act.until_it_waits()
        loss(actor)
    told["decide"] = act.ended()
    told |= {name: later.begun().ended() for name, later in acts.items()}
    assert {name: error.code if isinstance(error, Refusal) else error for name, error in told.items()} == dict.fromkeys(
        told, code
    )
    assert stored(request).status == "pending"
    counts = [model.objects.count() for model in (Decision, Vote, RequestComment)]
    assert counts == [0, 0, 0]


def test_an_administrator_who_is_removed_while_waiting_changes_no_one(dora):
    root, erin = User.objects.create_superuser("root"), make_person("erin")
    waiting = again(dora)
    assert ADMINISTER in standing_of(waiting).rights
    with transaction.atomic():
        change_person(dora.pk, email="", roles=[RoleName.APPROVER], team_ids=[], by=root)
        act = Act(lambda: set_active(erin.pk, active=False, by=waiting)).begun()
        act.until_it_waits()
    assert isinstance(act.ended(), NotAllowed)
    assert again(erin).is_active


def test_a_vote_that_was_counted_before_its_voter_came_back_is_not_left_behind(dora):
    """The vote has read the voters; they come back and everything is counted; only then the vote is stored."""
    root = User.objects.create_superuser("root")
    people = [make_person(name) for name in ("bob", "erin")]
    for person in people:
        give_roles(person, [RoleName.APPROVER])
    team = make_team("Finance", *people)
    request = make_voted(alice(), both(group(team, votes=2)))
    vote(request, again(people[0]))
    move = {"email": "", "roles": [RoleName.APPROVER], "by": root}
    change_person(people[0].pk, team_ids=[], **move)
    with transaction.atomic():
        vote(request, again(people[1]))
        back = Act(lambda: change_person(people[0].pk, team_ids=[team.pk], **move)).begun()
        assert back.ended() == []
        counting = Act(recount_votes).begun()
        counting.until_it_waits()
    assert counting.ended() is None
    assert (stored(request).status, Decision.objects.count()) == ("approved", 1)


def test_ten_counts_at_once_end_each_request_once(dora):
    root = User.objects.create_superuser("root")
    people = [make_person(name) for name in ("bob", "erin")]
    for person in people:
        give_roles(person, [RoleName.APPROVER])
    owner, team = alice(), make_team("Finance", *people)
    requests = [make_voted(owner, both(group(team, votes=2))) for _ in range(20)]
    for request in requests:
        vote(request, again(people[0]))
    move = {"email": "", "roles": [RoleName.APPROVER], "by": root}
    change_person(people[0].pk, team_ids=[], **move)
    for request in requests:
        vote(request, again(people[1]))
    change_person(people[0].pk, team_ids=[team.pk], **move)
    assert failures(race(*[recount_votes] * 10)) == []
    assert set(ApprovalRequest.objects.values_list("status", flat=True)) == {"approved"}
    assert Decision.objects.count() == len(requests)
