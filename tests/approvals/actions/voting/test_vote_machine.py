"""Votes against a small model: any order of votes, of rights that are lost and given back, of teams, and of counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from approvals.actions.policy.votes.recount import recount_votes
from approvals.administration.people.actions import change_person, give_roles, set_active
from approvals.exceptions import AlreadyDecided, NotAllowed, NotFound
from approvals.models import ApprovalRequest, Decision
from approvals.models.people import RoleName
from approvals.states import Verdict
from tests.support.desk.scopes import again
from tests.support.desk.votes import both, group, make_team, make_voted, vote
from tests.support.people import make_person

TEAMS = {"ann": "Finance", "ben": "Finance", "cleo": "Finance", "dan": "Security", "eve": "Security"}
NEEDED = {"Finance": 2, "Security": 1}


@dataclass
class Model:
    """Two of finance and one of security: the whole of the rules, without a database."""

    teams: dict[str, str | None]
    active: set[str]
    deciding: set[str]
    votes: dict[str, bool] = field(default_factory=dict)
    #: The outcome; empty while the request waits.
    ended: str = ""

    def able(self, team: str) -> set[str]:
        """Usernames of a team's possible voters now."""
        return {who for who, theirs in self.teams.items() if theirs == team and who in self.active & self.deciding}

    def count(self) -> None:
        """End the request if the votes that count now decide it."""
        if self.ended:
            return
        counting = {
            who: yes for who, yes in self.votes.items() if self.teams[who] and who in self.able(self.teams[who] or "")
        }
        approving = {team: sum(counting.get(who, False) for who in self.able(team)) for team in NEEDED}
        left = {team: sum(counting.get(who, True) for who in self.able(team)) for team in NEEDED}
        if all(approving[team] >= needed for team, needed in NEEDED.items()):
            self.ended = "approved"
        elif not all(counting.values()) and any(left[team] < needed for team, needed in NEEDED.items()):
            # Someone has rejected, and too few are left.
            self.ended = "rejected"


class Votes(RuleBasedStateMachine):
    """After each count, the request is as the model says, with one decision if it has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.rolled_back = transaction.atomic()
        self.rolled_back.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.rolled_back.__exit__(None, None, None)

    @initialize()
    def begin(self) -> None:
        self.root = User.objects.create_superuser("root")
        self.people = {name: make_person(name) for name in TEAMS}
        for person in self.people.values():
            give_roles(person, [RoleName.APPROVER])
        teams = {
            name: make_team(name, *(self.people[who] for who, team in TEAMS.items() if team == name)) for name in NEEDED
        }
        terms = both(*(group(teams[name], votes=votes) for name, votes in NEEDED.items()))
        self.request = make_voted(make_person("alice"), terms)
        self.model = Model(dict(TEAMS), set(TEAMS), set(TEAMS))

    @rule(who=st.sampled_from([*TEAMS]), yes=st.booleans())
    def vote(self, who: str, yes: bool) -> None:
        person = again(self.people[who])
        before = self.model.ended
        # A vote finds the request as it is after a count.
        self.model.count()
        counted = False
        try:
            vote(self.request, person, Verdict.APPROVE if yes else Verdict.REJECT)
            counted = True
        except (NotAllowed, NotFound, AlreadyDecided):
            pass
        allowed = who in self.model.active & self.model.deciding and self.model.teams[who] is not None
        if not before and not self.model.ended:
            assert counted == (allowed and self.wanted(who))
            if counted:
                self.model.votes[who] = yes
                self.model.count()

    def wanted(self, who: str) -> bool:
        """Whether the vote of someone in a team is taken: they are in the one stage that there is."""
        return self.model.teams[who] in NEEDED

    @rule(who=st.sampled_from([*TEAMS]), team=st.sampled_from([None, *NEEDED]))
    def move(self, who: str, team: str | None) -> None:
        self.change(who, team, who in self.model.deciding)

    @rule(who=st.sampled_from([*TEAMS]), decides=st.booleans())
    def give_or_take_the_right(self, who: str, decides: bool) -> None:
        self.change(who, self.model.teams[who], decides)

    def change(self, who: str, team: str | None, decides: bool) -> None:
        roles = [RoleName.APPROVER] if decides else [RoleName.REQUESTER]
        ids = list(Team.objects.filter(name=team).values_list("pk", flat=True))
        change_person(self.people[who].pk, email="", roles=roles, team_ids=ids, by=self.root)
        self.model.teams[who] = team
        self.model.deciding = self.model.deciding | {who} if decides else self.model.deciding - {who}

    @rule(who=st.sampled_from([*TEAMS]), active=st.booleans())
    def switch(self, who: str, active: bool) -> None:
        set_active(self.people[who].pk, active=active, by=self.root)
        self.model.active = self.model.active | {who} if active else self.model.active - {who}

    @rule()
    def count(self) -> None:
        recount_votes()
        self.model.count()
        assert self.status() == (self.model.ended or "pending")

    @precondition(lambda self: self.model.ended)
    @invariant()
    def one_outcome(self) -> None:
        ended = self.status()
        assert Decision.objects.filter(request=self.request.pk).count() == (ended != "pending")

    def status(self) -> str:
        return ApprovalRequest.objects.values_list("status", flat=True).get(pk=self.request.pk)


@pytest.mark.django_db
def test_any_order_of_votes_and_of_rights_lost_and_given_back_agrees_with_the_model():
    run_state_machine_as_test(Votes, settings=hypothesis_settings(max_examples=4, stateful_step_count=9, deadline=None))
