"""Any order of asking, deciding, repeating, cancelling and expiring keeps the rows consistent."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from approvals import actions
from approvals.db.prepared_writes import write_together
from approvals.exceptions import AlreadyDecided, Expired, Invalid, NotAllowed, NotFound
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.states import ENDED, Kind, Priority, Status, Verdict, WorkflowState
from tests.support.desk.requests import FUTURE, PAST, cancel, decide, events, make_request, make_workflow
from tests.support.people import alice, bob, carol, make_person, mallory

STATUS = {
    "approve": "approved",
    "edit": "approved",
    "reject": "rejected",
    "respond": "answered",
    "cancel": "cancelled",
    "expire": "expired",
}
CLOSING = {"cancel": "request.cancelled", "expire": "request.expired"}
URGENCY = {"critical": 0, "high": 1, "normal": 2, "low": 3}
PEOPLE = st.sampled_from(["alice", "bob", "dora", "carol", "mallory"])
SAID: dict[Verdict, list[dict[str, Any]]] = {
    Verdict.APPROVE: [{}],
    Verdict.REJECT: [{}, {"comment": "No."}],
    Verdict.EDIT: [{"edited_input": {"amount": 1}}, {"edited_input": {"amount": 120, "orderId": "4711"}}],
    Verdict.RESPOND: [{"answer": "blue"}, {"answer": None}],
}
SAYINGS = st.sampled_from([(verdict, said) for verdict, all_said in SAID.items() for said in all_said])


class Desk(RuleBasedStateMachine):
    """One workflow with several requests; `closed` has the final decisions, which may never change."""

    requests = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        people = [alice(), bob(), carol(), mallory(), make_person("dora", "decide_approvalrequest")]
        self.people: dict[str, User] = {person.username: person for person in people}
        self.workflow = make_workflow(self.people["alice"])
        self.closed: dict[Any, Any] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @rule(
        target=requests,
        kind=st.sampled_from(Kind),
        priority=st.sampled_from(Priority),
        deadline=st.sampled_from([None, None, FUTURE, PAST]),
    )
    def ask(self, kind: Kind, priority: Priority, deadline: Any) -> ApprovalRequest:
        asked = {"workflow": self.workflow, "priority": priority, "deadline_at": deadline}
        return make_request(self.people["alice"], kind, **asked)

    @rule(request=requests, name=PEOPLE, saying=SAYINGS)
    def decide(self, request: ApprovalRequest, name: str, saying: tuple[Verdict, dict[str, Any]]) -> None:
        verdict, said = saying
        try:
            outcome = decide(request, self.people[name], verdict, **said)
        except (NotFound, NotAllowed):
            assert name in {"mallory", "carol"} or (name == "alice" and request.kind in {"approval", "recovery"})
        except Invalid:
            assert Decision.objects.filter(request_id=request.pk).count() == 0
        except (AlreadyDecided, Expired) as refusal:
            assert refusal.decision == Decision.objects.get(request_id=request.pk)
        else:
            assert outcome.decision.by_name == name
            assert outcome.replayed == (request.pk in self.closed)

    @rule(request=requests)
    def repeat(self, request: ApprovalRequest) -> None:
        """Repeating a decision returns it."""
        decision = Decision.objects.filter(request_id=request.pk, by_id__isnull=False).exclude(verdict="cancel").first()
        if decision is not None:
            said: dict[str, Any] = {"comment": decision.comment}
            if decision.verdict == Verdict.EDIT:
                said["edited_input"] = decision.edited_input
            if decision.verdict == Verdict.RESPOND:
                said["answer"] = decision.answer
            again = decide(request, self.people[decision.by_name], Verdict(decision.verdict), **said)
            assert (again.replayed, again.decision) == (True, decision)

    @rule(request=requests, name=PEOPLE)
    def cancel(self, request: ApprovalRequest, name: str) -> None:
        try:
            outcome = cancel(request, self.people[name])
        except (NotFound, NotAllowed):
            assert name in {"carol", "mallory"}
        except (AlreadyDecided, Expired) as refusal:
            overdue = isinstance(refusal, Expired) and request.deadline_at == PAST
            assert (request.pk in self.closed or overdue, refusal.decision.request_id) == (True, request.pk)
        else:
            assert (request.pk in self.closed, outcome.decision.verdict) == (False, "cancel")

    @rule(request=requests)
    def expire(self, request: ApprovalRequest) -> None:
        due = request.pk not in self.closed and request.deadline_at == PAST
        assert actions.expire(request.pk) is due

    @rule(state=st.sampled_from(sorted(ENDED)))
    def try_to_end(self, state: str) -> None:
        """Only a workflow without waiting requests ends; the savepoint lets the next rules continue."""
        waiting = Workflow.objects.get().open_count > 0
        before = Workflow.objects.get().state
        with transaction.atomic():
            write_together([actions.end_of_workflow(self.workflow, state=WorkflowState(state))])
            assert Workflow.objects.get().state == (before if waiting else state)
            transaction.set_rollback(True)

    @invariant()
    def each_request_has_one_end_or_none_yet(self) -> None:
        for request in ApprovalRequest.objects.all():
            verdicts = list(Decision.objects.filter(request_id=request.pk).values_list("verdict", flat=True))
            closing = [CLOSING.get(verdict, "request.decided") for verdict in verdicts]
            assert len(verdicts) == (request.status != Status.PENDING)
            assert [STATUS[verdict] for verdict in verdicts] == [request.status] * len(verdicts)
            assert events(request) == ["request.created", *closing]

    @invariant()
    def what_is_closed_never_changes(self) -> None:
        ended = ApprovalRequest.objects.exclude(status=Status.PENDING).values()
        now = {row["id"]: (row, Decision.objects.values().get(request_id=row["id"])) for row in ended}
        assert {pk: now.get(pk) for pk in self.closed} == self.closed
        self.closed = now

    @invariant()
    def the_workflow_knows_what_is_open(self) -> None:
        workflow = Workflow.objects.get()
        open_now = list(ApprovalRequest.objects.filter(status=Status.PENDING).values_list("priority", flat=True))
        urgency = min((URGENCY[priority] for priority in open_now), default=None)
        assert (workflow.open_count, workflow.urgency) == (len(open_now), urgency)
        assert workflow.state == (WorkflowState.SUSPENDED if open_now else WorkflowState.RUNNING)
        assert (workflow.suspended_at is not None) == bool(open_now)


@pytest.mark.django_db
def test_any_order_of_events_keeps_the_desk_consistent():
    run_state_machine_as_test(Desk, settings=settings(max_examples=8, stateful_step_count=12))
