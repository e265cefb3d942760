"""Equal calls in any order of asking, waiting, deciding, taking and reporting: one approval runs one call."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from approvals import actions
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.asking.digests import input_digest
from approvals.asking.origins import EqualCalls, Origin
from approvals.db.canonical_json import digest
from approvals.models import ApprovalRequest, AuditEntry
from approvals.queries.requests import WHOLE_REQUEST
from approvals.states import Door, Kind, Verdict
from tests.support.people import alice, bob

INPUT = {"command": "rm -rf build"}
DECIDED = {"approved", "rejected"}
CALLS = st.sampled_from(["first", "second"])


class Calls(RuleBasedStateMachine):
    """Two equal calls. `waiting` has the request that each waits for, `ran` the calls that each approval let run.

    `taken` has the call that each decision went to, and `reported` the requests with a result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.alice, self.bob = alice(), bob()
        self.waiting: dict[str, Any] = {}
        self.ran: dict[Any, set[str]] = {}
        self.taken: dict[Any, str] = {}
        self.reported: set[Any] = set()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(named=st.sampled_from([False, False, True]))
    def begin(self, named: bool) -> None:
        self.named = named

    def calls(self, name: str) -> EqualCalls:
        return EqualCalls(
            key="hook" + "k" * 64,
            named=self.named,
            taker=name,
            taken_by=f"the {name} call",
            by=self.alice,
            via=Door.REST,
        )

    def latest(self) -> ApprovalRequest | None:
        return ApprovalRequest.objects.order_by("-created_at").first()

    def is_at(self, *statuses: str) -> bool:
        latest = self.latest()
        return latest is not None and latest.status in statuses

    def shares(self, name: str, latest: ApprovalRequest) -> bool:
        """Whether the latest request is that of a call which is sent now."""
        if latest.pk in self.reported:
            return False
        if self.named or latest.status == "pending":
            return True
        return latest.status in DECIDED and self.taken.get(latest.pk, name) == name

    def answer(self, name: str, request_id: Any) -> None:
        """A call gets the answer to a request that has ended, and runs if it is allowed to."""
        request = WHOLE_REQUEST.first(pk=request_id)
        gets_it = actions.take_decision(request, self.calls(name))
        if request.status in DECIDED:
            assert gets_it == (self.named or self.taken.setdefault(request.pk, name) == name)
        if gets_it and request.status == "approved":
            self.ran.setdefault(request.pk, set()).add(name)

    @rule(name=CALLS)
    def ask(self, name: str) -> None:
        asked = Ask(kind=Kind.APPROVAL, title="Run a command?", tool_name="Bash", tool_call_id="call", input=INPUT)
        origin = Origin(scope="key:1", digest=digest(INPUT), calls=self.calls(name))
        latest = self.latest()
        shared = latest is not None and self.shares(name, latest)
        request = actions.ask_for_client(asked, origin, by=self.alice).request
        assert (request == latest) == shared
        if request.pending:
            self.waiting[name] = request.pk
        else:
            self.answer(name, request.pk)

    @precondition(lambda self: self.is_at("pending"))
    @rule(verdict=st.sampled_from([Verdict.APPROVE, Verdict.APPROVE, Verdict.REJECT]))
    def decide(self, verdict: Verdict) -> None:
        actions.decide(self.latest().pk, Answer(verdict), by=self.bob, via=Door.DASHBOARD)

    @precondition(lambda self: self.is_at("pending"))
    @rule()
    def cancel(self) -> None:
        actions.cancel(self.latest().pk, by=self.bob, via=Door.DASHBOARD)

    @precondition(lambda self: self.waiting and not self.is_at("pending"))
    @rule(backwards=st.booleans())
    def hear(self, backwards: bool) -> None:
        """The calls that wait get the answer, in any order."""
        for name in sorted(self.waiting, reverse=backwards):
            self.answer(name, self.waiting.pop(name))

    @precondition(lambda self: self.is_at("approved") and self.latest().pk in self.ran)
    @rule()
    def report(self) -> None:
        request = self.latest()
        result = actions.ReportedResult(input_digest=input_digest(INPUT), output="done")
        actions.report_result(request.pk, result, scope=request.scope, by=self.alice, via=Door.REST)
        self.reported.add(request.pk)

    @invariant()
    def one_approval_runs_one_call(self) -> None:
        if not getattr(self, "named", True):
            assert {pk: len(names) for pk, names in self.ran.items()} == dict.fromkeys(self.ran, 1)

    @invariant()
    def each_taking_is_on_record_once(self) -> None:
        taken = ApprovalRequest.objects.exclude(taker=None).exclude(taker="").values_list("pk", "taken_by")
        entries = AuditEntry.objects.filter(event="request.taken")
        assert sorted((entry.request_id, entry.data["call"]) for entry in entries) == sorted(taken)

    @invariant()
    def at_most_one_request_waits(self) -> None:
        assert ApprovalRequest.objects.filter(status="pending").count() <= 1


@pytest.mark.django_db
def test_any_order_of_equal_calls_lets_one_approval_run_one_call():
    run_state_machine_as_test(
        Calls, settings=settings(max_examples=10, stateful_step_count=10, phases=[Phase.generate])
    )
