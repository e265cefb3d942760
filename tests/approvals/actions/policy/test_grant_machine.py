"""Any order of giving, asking, revoking, waiting, losing rights, changing limits and switching agrees with a small model."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.db.models.functions import Now
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from approvals.actions.policy import ask_about_everything, end_due_grants, revoke_grant
from approvals.administration.tools.actions import store_tool_settings
from approvals.db.append_only import maintenance
from approvals.exceptions import Invalid, NotAllowed, NotFound
from approvals.models import ApprovalRequest, AuditEntry, Decision, Grant
from approvals.states import Audience, Door, Priority, Width
from tests.approvals.actions.policy.granting import approve, ask, in_an_hour, terms
from tests.support.people import alice, make_person, mallory

GIVERS, ASKERS, AGENTS = ("bob", "dora"), ("alice", "mallory"), ("billing", "support")


@dataclass
class Given:
    """A grant in the model."""

    number: int
    giver: str
    width: Width
    input: dict[str, Any]
    asker: str
    agent: str
    uses: int | None
    timed: bool
    used: int = 0
    over: str = ""


@dataclass
class Model:
    """The expected behavior of one tool's grants; `day` is the time until which a grant lasts."""

    rights: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(GIVERS, True))
    active: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(GIVERS, True))
    limits: dict[str, Any] = field(default_factory=dict)
    stopped: bool = False
    grants: list[Given] = field(default_factory=list)

    def may_give(self, giver: str, width: Width, uses: int | None, priority: str) -> bool:
        able = self.rights[giver] and self.active[giver] and priority != "critical"
        return able and self.within(width, uses)

    def within(self, width: Width, uses: int | None) -> bool:
        most, widest = self.limits.get("grant_uses"), self.limits.get("grant_width")
        fits = (most is None or (uses is not None and uses <= most)) and (widest is None or width <= widest)
        return fits and not self.limits.get("no_grants")

    def why_over(self, grant: Given) -> str:
        if grant.over:
            return grant.over
        if not self.active[grant.giver]:
            return "giver_left"
        if not self.rights[grant.giver]:
            return "right_lost"
        return "" if self.within(grant.width, grant.uses) else "beyond_limit"

    def use(self, asker: str, agent: str, value: dict[str, Any], priority: str) -> Given | None:
        def covers(grant: Given) -> bool:
            same = {Width.INPUT: value == grant.input, Width.FIELDS: value["order"] == grant.input["order"]}
            who = (grant.asker, grant.agent) == (asker, agent)
            return who and same.get(grant.width, True) and not self.why_over(grant)

        if self.stopped or priority == "critical":
            return None
        grant = min(filter(covers, self.grants), key=lambda grant: (grant.width, grant.number), default=None)
        if grant is not None:
            grant.used += 1
            grant.over = "used_up" if grant.used == grant.uses else ""
        return grant


INPUTS = st.fixed_dictionaries({"order": st.sampled_from([1, 2]), "amount": st.sampled_from([10, 20])})
PRIORITIES = st.sampled_from([Priority.NORMAL, Priority.NORMAL, Priority.CRITICAL])


class Desk(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        people = [alice(), mallory(), *(make_person(name, "decide_approvalrequest") for name in GIVERS)]
        self.root = User.objects.create_superuser("root")
        self.people = {person.username: person for person in people}
        store_tool_settings("refund", {"key_fields": ["/order"]}, by=self.root)
        self.model, self.ids = Model(), dict[int, Any]()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    def person(self, name: str) -> User:
        return User.objects.get(username=name)

    @rule(
        giver=st.sampled_from(GIVERS),
        asker=st.sampled_from(ASKERS),
        agent=st.sampled_from(AGENTS),
        value=INPUTS,
        width=st.sampled_from(Width),
        uses=st.sampled_from([1, 2, 3]),
        timed=st.booleans(),
        priority=PRIORITIES,
    )
    def give(self, giver, asker, agent, value, width, uses, timed, priority):
        request = self.asked(asker, agent, value, priority)
        if request.status != "pending":
            return
        wanted = terms(width, Audience.AGENT, uses=uses, until=in_an_hour() if timed else None)
        allowed = self.model.may_give(giver, width, uses, priority)
        try:
            approve(request, self.person(giver), wanted)
            given = True
        except (Invalid, NotAllowed, NotFound):
            given = False
        assert given == allowed
        if given:
            grant = Given(len(self.ids), giver, width, value, asker, agent, uses, timed)
            self.model.grants.append(grant)
            self.ids[grant.number] = Grant.objects.get(request=request).pk

    @rule(asker=st.sampled_from(ASKERS), agent=st.sampled_from(AGENTS), value=INPUTS, priority=PRIORITIES)
    def ask(self, asker, agent, value, priority):
        self.asked(asker, agent, value, priority)

    def asked(self, asker, agent, value, priority) -> ApprovalRequest:
        expected = self.model.use(asker, agent, value, priority)
        request = ask(self.people[asker], value, agent=agent, priority=priority)
        decision = Decision.objects.filter(request=request).first()
        if expected is None:
            assert (request.status, decision) == ("pending", None)
        else:
            number = self.ids[expected.number]
            assert (decision.grant_id, decision.grant_use, decision.by_name) == (number, expected.used, expected.giver)
        return request

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def revoke(self, data):
        self.sweep()
        grant = data.draw(st.sampled_from(self.model.grants))
        revoke_grant(self.ids[grant.number], by=self.root, via=Door.DASHBOARD)
        grant.over = grant.over or "revoked"
        assert Grant.objects.get(pk=self.ids[grant.number]).ended_why == grant.over

    @precondition(lambda self: any(grant.timed for grant in self.model.grants))
    @rule()
    def let_time_pass(self):
        with maintenance(connection, "test"):
            Grant.objects.exclude(until=None).update(until=Now() - timedelta(milliseconds=1))
        for grant in self.model.grants:
            if grant.timed and not grant.over:
                grant.over = "expired"

    @rule(giver=st.sampled_from(GIVERS), active=st.booleans())
    def activate(self, giver, active):
        self.sweep()
        User.objects.filter(username=giver).update(is_active=active)
        self.model.active[giver] = active

    @rule(giver=st.sampled_from(GIVERS), right=st.booleans())
    def change_right(self, giver, right):
        self.sweep()
        decide = Permission.objects.get(codename="decide_approvalrequest")
        self.person(giver).user_permissions.set([decide] if right else [])
        self.model.rights[giver] = right

    @rule(uses=st.sampled_from([None, 2]), width=st.sampled_from([None, *Width]), never=st.booleans())
    def limit(self, uses, width, never):
        self.sweep()
        limits = {"grant_uses": uses, "grant_width": width, "no_grants": never}
        store_tool_settings("refund", limits, by=self.root)
        self.model.limits = limits

    @rule(on=st.booleans())
    def switch(self, on):
        if on != self.model.stopped:
            ask_about_everything(on=on, by=self.root, via=Door.DASHBOARD)
            self.model.stopped = on

    @rule()
    def sweep(self):
        end_due_grants()
        for grant in self.model.grants:
            grant.over = self.model.why_over(grant)
            assert Grant.objects.get(pk=self.ids[grant.number]).ended_why == grant.over

    @invariant()
    def uses_are_counted_once_and_on_record(self):
        for grant in self.model.grants:
            stored = Grant.objects.get(pk=self.ids[grant.number])
            uses = Decision.objects.filter(grant=stored).order_by("grant_use").values_list("grant_use", flat=True)
            assert (stored.used, list(uses)) == (grant.used, list(range(1, grant.used + 1)))
        ends = Grant.objects.exclude(ended_at=None).count()
        assert AuditEntry.objects.filter(event__in=["grant.ended", "grant.revoked"]).count() == ends
        assert AuditEntry.objects.filter(event="grant.given").count() == len(self.model.grants)
        assert AuditEntry.objects.filter(event="grant.used").count() == sum(one.used for one in self.model.grants)


@pytest.mark.django_db
def test_any_order_of_events_agrees_with_the_model():
    run_state_machine_as_test(Desk, settings=settings(max_examples=8, stateful_step_count=15))
