"""How the Python client takes, renews, completes and gives back a resume, without a network."""

from __future__ import annotations

import math

import pytest
from pausepoint.desk import LeaseLost, Refused, Resume, resuming
from pausepoint.desk.resuming import Taken
from pausepoint.desk.transport import ConnectionLost, Response

from tests.approvals.api.python_client.test_flows import APPROVED, carry_out, said

TAKEN = {"token": "ppr_1", "state": None, "attempt": 1, "request": APPROVED}
BUSY = {"code": "resume_taken", "detail": "bob has it.", "resume": {"by": "bob"}}


def paths(calls) -> list[str]:
    return [call.path for call in calls]


def held(*request_ids: str) -> Resume:
    return Resume([Taken(one, f"ppr_{one}", TAKEN) for one in request_ids], 60, math.inf)


def test_a_take_whose_response_is_lost_is_repeated_with_the_same_key():
    talk = resuming.take(1000, ["r1"], "worker-1", 60)
    resume, calls, _ = carry_out(talk, [ConnectionLost("gone"), Response(502, b""), said(TAKEN)])
    assert calls == [calls[0]] * 3
    assert (calls[0].body, len(calls[0].headers["Idempotency-Key"])) == ({"by": "worker-1", "lease_seconds": 60}, 36)
    assert (resume.attempt, resume.state, resume.lost) == (1, None, False)


def test_several_requests_are_taken_in_one_order_and_given_in_the_order_that_was_asked():
    talk = resuming.take(60, ["r2", "r1", "r2"], "", 60)
    first, second = TAKEN | {"token": "of r1", "attempt": 2}, TAKEN | {"token": "of r2", "state": "x"}
    resume, calls, _ = carry_out(talk, [said(first), said(second)])
    assert paths(calls) == ["/requests/r1/resume", "/requests/r2/resume"]
    assert [(one.request_id, one.token) for one in resume.taken] == [("r2", "of r2"), ("r1", "of r1")]
    assert (resume.attempt, resume.state) == (2, "x")


def test_all_are_taken_or_none():
    talk = resuming.take(60, ["r1", "r2"], "", 60)
    with pytest.raises(Refused, match="resume_taken"):
        carry_out(talk, [said(TAKEN), said(BUSY, 409), said({})])
    heard = resuming.take(60, ["r1", "r2"], "", 60)
    seen = [heard.send(answer) for answer in (None, said(TAKEN), said(BUSY, 409))]
    assert paths(seen)[2] == "/requests/r1/resume/release"
    assert seen[2].body["token"] == "ppr_1"


def test_a_renewal_that_is_refused_says_that_the_lease_is_lost():
    resume = held("r1", "r2")
    carry_out(resuming.renew(resume), [said({}), said({"code": "resume_lost"}, 409)])
    assert resume.lost


def test_a_renewal_moves_the_end_of_the_lease():
    resume = held("r1")
    resume.until = -math.inf
    carry_out(resuming.renew(resume), [said({})])
    assert not resume.lost


def test_a_completion_that_comes_too_late_raises_with_the_name_of_the_new_holder():
    with pytest.raises(LeaseLost, match="worker-2 has claimed it") as lost:
        carry_out(resuming.leave(60, held("r1")), [said({"code": "resume_lost", "resume": {"by": "worker-2"}}, 409)])
    assert (lost.value.request_id, lost.value.by) == ("r1", "worker-2")


def test_what_is_given_back_is_not_completed_and_a_refusal_of_that_is_no_error():
    resume = held("r1", "r2")
    resume.give_back("not today")
    _, calls, _ = carry_out(resuming.leave(60, resume), [said({"code": "resume_lost"}, 409), said({})])
    assert paths(calls) == ["/requests/r1/resume/release", "/requests/r2/resume/release"]
    assert calls[0].body == {"token": "ppr_r1", "reason": "not today"}
