"""Scopes against a small model: any order of asking, of scopes that come, change and go, of teams, roles and absences."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from approvals import queries
from approvals.access import permissions
from approvals.access.standing import standing_of, standings_of
from approvals.actions.policy.scope_index import compare_earlier_requests
from approvals.administration.scopes.actions import ScopeTerms, delete_scope, store_scope
from approvals.models import Absence, ApprovalRequest
from approvals.states import Door
from tests.support.desk.away import away
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import again
from tests.support.people import make_person

TOOLS = ("refund", "payroll")
PEOPLE = {"bob": {"decide"}, "carol": {"view"}, "frank": {"decide", "ignore"}, "mallory": set()}
RIGHTS = {"decide": "decide_approvalrequest", "view": "view_approvalrequest", "ignore": "ignore_scopes"}
RANK = {"see": 0, "answer": 1, "decide": 2}


@dataclass
class Model:
    """Everyone's rights to see and decide: all of the rules, without a database."""

    rights: dict[str, set[str]]
    members: set[str] = field(default_factory=set)
    scopes: dict[int, tuple[str, str, float | None, set[str], bool]] = field(default_factory=dict)
    #: The absent people of each delegate.
    away: dict[str, str] = field(default_factory=dict)

    def allowed(self, who: str, tool: str, amount: float | None, owner: str) -> tuple[bool, bool]:
        """Whether the person sees, and decides, an approval of this tool and amount that an agent of the owner asked."""
        rights = self.rights[who]
        if not rights & {"decide", "view"}:
            return who == owner, False
        if not self.scopes or "ignore" in rights:
            return True, "decide" in rights
        absent = {name for name, delegate in self.away.items() if delegate == who and "decide" in self.rights[name]}
        seen, decided = self.of_scopes(who, tool, amount), False
        for name in absent:
            theirs = self.of_scopes(name, tool, amount)
            seen = (seen[0] or theirs[0], seen[1])
            decided |= theirs[1] and owner not in {who, name}
        return seen[0] or who == owner, "decide" in rights and (seen[1] or decided)

    def of_scopes(self, who: str, tool: str, amount: float | None) -> tuple[bool, bool]:
        """Whether a scope that names the person lets them see it, and decide it."""
        mine = [
            (may, limit)
            for named, may, limit, people, team in self.scopes.values()
            if named in {"*", tool} and (who in people or (team and who in self.members))
        ]
        within = [
            RANK[may] == 2 and (limit is None or (amount is not None and abs(amount) <= limit)) for may, limit in mine
        ]
        return bool(mine), any(within)


class Scopes(RuleBasedStateMachine):
    """After each step, the product allows the same as the model."""

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
        self.people = {name: make_person(name, *(RIGHTS[right] for right in held)) for name, held in PEOPLE.items()}
        self.team = Group.objects.create(name="payments")
        self.model = Model({name: set(held) for name, held in PEOPLE.items()})
        self.askers = {"alice": make_person("alice"), **self.people}
        self.requests: list[tuple[ApprovalRequest, str, float | None, str]] = []
        self.number = 0

    @rule(
        tool=st.sampled_from(TOOLS),
        amount=st.sampled_from([None, 5, 50, -50]),
        owner=st.sampled_from(["alice", "alice", *sorted(PEOPLE)]),
    )
    def ask(self, tool: str, amount: float | None, owner: str) -> None:
        value = {} if amount is None else {"amount": amount}
        request = make_request(again(self.askers[owner]), tool_name=tool, input=value)
        self.requests.append((request, tool, amount, owner))

    @rule(name=st.sampled_from(sorted(PEOPLE)), delegate=st.sampled_from(sorted(PEOPLE)))
    def leave_or_return(self, name: str, delegate: str) -> None:
        if name in self.model.away:
            Absence.objects.filter(person=self.people[name]).delete()
            del self.model.away[name]
        elif name != delegate:
            away(self.people[name], self.people[delegate])
            self.model.away[name] = delegate

    @rule(
        tool=st.sampled_from([*TOOLS, "*"]), may=st.sampled_from(sorted(RANK)), limit=st.sampled_from([None, 10.0]),
        people=st.sets(st.sampled_from(sorted(PEOPLE))), team=st.booleans(), change=st.booleans(),
    )  # fmt: skip
    def store(self, tool: str, may: str, limit: float | None, people: set[str], team: bool, change: bool) -> None:
        known = min(self.model.scopes) if change and self.model.scopes else None
        self.number += 1
        terms = ScopeTerms(
            name=f"Scope {self.number}", match={} if tool == "*" else {"tools": [tool]}, may=may, limit=limit,
            people=[self.people[name] for name in people], teams=[self.team] if team else [],
        )  # fmt: skip
        stored = store_scope(known, terms, by=self.root, via=Door.DASHBOARD)
        self.model.scopes.pop(known or 0, None)
        self.model.scopes[stored.pk] = (tool, may, limit, people, team)
        compare_earlier_requests()

    @rule()
    def delete(self) -> None:
        if self.model.scopes:
            pk = max(self.model.scopes)
            delete_scope(pk, by=self.root, via=Door.DASHBOARD)
            del self.model.scopes[pk]

    @rule(name=st.sampled_from(sorted(PEOPLE)))
    def change_team(self, name: str) -> None:
        if name in self.model.members:
            self.people[name].groups.remove(self.team)
        else:
            self.people[name].groups.add(self.team)
        self.model.members ^= {name}

    @rule(name=st.sampled_from(sorted(PEOPLE)), right=st.sampled_from(sorted(RIGHTS)))
    def change_right(self, name: str, right: str) -> None:
        permission = Permission.objects.get(codename=RIGHTS[right])
        held = self.people[name].user_permissions
        held.remove(permission) if right in self.model.rights[name] else held.add(permission)
        self.model.rights[name] ^= {right}

    @invariant()
    def everyone_sees_and_decides_what_the_model_says(self) -> None:
        requests = getattr(self, "requests", [])
        rows = [ApprovalRequest.objects.get(pk=request.pk) for request, *_about in requests]
        ways = (permissions.readers_of, permissions.deciders_of)
        allowed = [tuple(set(way(row).values_list("pk", flat=True)) for way in ways) for row in rows]
        others = [person.pk for person in getattr(self, "people", {}).values()]
        for name, person in getattr(self, "people", {}).items():
            alone = standing_of(person)
            rows = [ApprovalRequest.objects.get(pk=request.pk) for request, *_about in requests]
            found = [(permissions.may_see(alone, row), permissions.may_close(alone, row)) for row in rows]
            assert found == [self.model.allowed(name, *about) for _row, *about in self.requests]
            assert standings_of(others)[person.pk] == alone
            assert found == [(person.pk in readers, person.pk in deciders) for readers, deciders in allowed]
            listed = set(queries.requests_for(alone).values_list("pk", flat=True))
            assert listed == {row.pk for row, (seen, _may) in zip(rows, found, strict=True) if seen}


@pytest.mark.django_db
def test_any_order_of_changes_leaves_what_the_model_says():
    profile = hypothesis_settings(max_examples=4, stateful_step_count=9, deadline=None)
    run_state_machine_as_test(Scopes, settings=profile)
