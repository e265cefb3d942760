"""How the Python client claims the right to run an approved call, without a network."""

from __future__ import annotations

from typing import Any

from pausepoint import leases
from pausepoint.desk.outcomes import outcome_of
from pausepoint.gate import Ruling

from tests.approvals.api.python_client.test_flows import APPROVED, MADE, carry_out, said
from tests.approvals.resuming.test_python_client import BUSY, paths

DONE = {"code": "already_resumed", "detail": "It was resumed."}
RESULT = {"state": "succeeded", "output": "refunded", "error": None}
ASKED = {"priority": "high", "give_up_after": None}


def approved(request_id: str = "r1", **fields: Any) -> dict[str, Any]:
    known = {"id": request_id, "url": f"https://desk/{request_id}/", "tool_name": "refund", "result": None, "input": {}}
    return APPROVED | known | fields


def taken(request: dict[str, Any], lost_by: str | None = None) -> Any:
    return said({"token": "ppr_1", "state": None, "attempt": 1, "lost_by": lost_by, "request": request})


def claimed(*heard: Any) -> tuple[leases.Claim, list[str], list[Any], list[Any]]:
    claim, calls, pauses = carry_out(leases.claim(60, outcome_of(approved()), ASKED), heard)
    return claim, paths(calls), [call.body for call in calls], pauses


def test_a_call_that_nobody_has_claimed_may_run():
    claim, called, _, _ = claimed(taken(approved()))
    assert (claim.resume is not None, claim.outcome.request_id, called) == (True, "r1", ["/requests/r1/resume"])


def test_a_call_that_runs_elsewhere_is_waited_for_and_its_result_is_returned():
    claim, called, _, pauses = claimed(said(BUSY, 409), said(BUSY, 409), said(DONE, 409), said(approved(result=RESULT)))
    assert (claim.resume, claim.outcome.result) == (None, RESULT)
    assert called == ["/requests/r1/resume"] * 3 + ["/requests/r1"]
    assert [pause.seconds for pause in pauses] == [0.25, 0.5]


def test_a_call_whose_process_ended_is_given_back_and_a_person_is_asked_again():
    again = approved("r2")
    claim, called, bodies, _ = claimed(
        taken(approved(), "worker-1"), said({}), said(again, 201), said(approved()), taken(again)
    )
    assert called == [
        "/requests/r1/resume",
        "/requests/r1/resume/release",
        "/requests",
        "/requests/r1",
        "/requests/r2/resume",
    ]
    assert (claim.outcome.request_id, [each.request_id for each in claim.earlier]) == ("r2", ["r1"])
    assert bodies[2] == {
        "kind": "approval",
        "title": "Run refund again?",
        "tool_name": "refund",
        "tool_call_id": "again-r1",
        "input": {"amount": 60},
        "priority": "high",
        "message": "An earlier run of this call ended before it reported a result, so it may have run already. "
        "[It was approved here](https://desk/r1/). Find out what it has done before you decide.",
    }


def test_a_call_that_was_completed_without_a_result_is_asked_about_again():
    no = approved(
        "r2",
        status="rejected",
        decision={**MADE, "comment": "It has.", "approved_input": None, "approved_digest": None},
    )
    claim, called, _, _ = claimed(said(DONE, 409), said(approved()), said(no), said(approved()))
    assert called == ["/requests/r1/resume", "/requests/r1", "/requests", "/requests/r1"]
    ruling = Ruling(claim.outcome, question=False, earlier=claim.earlier, lease=None)
    assert (claim.resume, ruling.runs, ruling.text) == (
        None,
        False,
        "An earlier run of this call ended before it reported a result, so it may have run already. "
        "A person declined this call: It has. Do not repeat it.",
    )


def test_a_result_that_arrives_while_a_person_is_asked_stands():
    claim, called, _, _ = claimed(
        taken(approved(), "worker-1"), said({}), said(approved("r2"), 201), said(approved(result=RESULT))
    )
    assert (claim.resume, claim.outcome.request_id, claim.outcome.result) == (None, "r1", RESULT)
    assert called[-1] == "/requests/r1"


def test_the_model_is_told_what_people_changed_in_both_approvals():
    first, second = (
        outcome_of(approved()),
        outcome_of(approved("r2", decision={**APPROVED["decision"], "verdict": "approve"})),
    )
    ruling = Ruling(second, question=False, earlier=(first,))
    changed = 'A person changed the input of this call to {"amount": 60} and says: half.'
    assert ruling.note == f"{changed}\nA person approved this call: half."
