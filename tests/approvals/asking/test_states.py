"""The tables of states and verdicts are complete and consistent."""

from __future__ import annotations

import pytest

from approvals.asking.asks import URGENCY
from approvals.models import ApprovalRequest, Decision, Workflow
from approvals.states import (
    ALIASES,
    ENDED,
    FINAL,
    OUTCOMES,
    TRANSITIONS,
    VERDICTS,
    Door,
    Kind,
    Priority,
    Status,
    Verdict,
    WorkflowState,
    verdict_from,
)

OF_A_PERSON = {Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND}


def test_the_values_that_others_rely_on():
    assert [word.value for word in Status] == ["pending", "approved", "rejected", "answered", "cancelled", "expired"]
    assert [word.value for word in Kind] == ["approval", "question", "form", "recovery"]
    assert [word.value for word in Verdict] == ["approve", "reject", "edit", "respond", "cancel", "expire"]
    assert [word.value for word in Priority] == ["low", "normal", "high", "critical"]
    assert [word.value for word in WorkflowState] == ["running", "suspended", "completed", "cancelled", "failed"]


def test_every_status_has_its_transitions_and_only_pending_has_any():
    assert set(TRANSITIONS) == set(Status)
    assert {status for status, after in TRANSITIONS.items() if after} == {Status.PENDING}
    assert TRANSITIONS[Status.PENDING] == FINAL == set(Status) - {Status.PENDING}


def test_every_verdict_leads_to_a_final_status_and_every_final_status_is_reached():
    assert set(OUTCOMES) == set(Verdict)
    assert set(OUTCOMES.values()) == FINAL


def test_every_kind_accepts_verdicts_of_a_person_and_can_be_rejected():
    assert set(VERDICTS) == set(Kind)
    assert set().union(*VERDICTS.values()) == OF_A_PERSON
    assert {kind for kind, taken in VERDICTS.items() if Verdict.REJECT not in taken} == set()
    assert {kind for kind, taken in VERDICTS.items() if Verdict.EDIT in taken} == {Kind.APPROVAL}
    assert {kind for kind, taken in VERDICTS.items() if Verdict.APPROVE in taken} == {Kind.APPROVAL, Kind.RECOVERY}


def test_aliases_mean_verdicts_of_a_person_and_hide_no_verdict():
    assert set(ALIASES.values()) <= OF_A_PERSON
    assert set(ALIASES) & set(Verdict.values) == set()


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("approve", Verdict.APPROVE),
        ("accept", Verdict.APPROVE),
        ("allow", Verdict.APPROVE),
        ("reject", Verdict.REJECT),
        ("deny", Verdict.REJECT),
        ("decline", Verdict.REJECT),
        ("ignore", Verdict.REJECT),
        ("edit", Verdict.EDIT),
        ("respond", Verdict.RESPOND),
        ("response", Verdict.RESPOND),
        ("answer", Verdict.RESPOND),
        ("cancel", None),
        ("expire", None),
        ("Approve", None),
        ("", None),
        ("approved", None),
    ],
)
def test_a_name_gives_its_verdict_or_none(word, verdict):
    assert verdict_from(word) is verdict


def test_every_priority_has_an_urgency_and_critical_comes_first():
    assert set(URGENCY) == set(Priority)
    assert sorted(URGENCY, key=URGENCY.get) == [Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW]


def test_a_workflow_has_ended_unless_it_runs_or_waits():
    assert set(WorkflowState) - {WorkflowState.RUNNING, WorkflowState.SUSPENDED} == ENDED
    assert {state for state in WorkflowState if Workflow(state=state).ended} == ENDED
    assert {status for status in Status if ApprovalRequest(status=status).pending} == {Status.PENDING}


@pytest.mark.parametrize(
    ("model", "column", "words"),
    [
        (ApprovalRequest, "status", Status),
        (ApprovalRequest, "kind", Kind),
        (ApprovalRequest, "priority", Priority),
        (Decision, "verdict", Verdict),
        (Decision, "via", Door),
        (Workflow, "state", WorkflowState),
    ],
)
def test_every_value_fits_its_column(model, column, words):
    assert [word for word in words if len(word.value) > model._meta.get_field(column).max_length] == []
