"""A call at a deadline at which the policy stops the run: the client reports that, and does not go on as after a no."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pausepoint import gate
from pausepoint.approve import Halted, NotApproved
from pausepoint.desk import Desk, Outcome


def expired(**decision: Any) -> Outcome:
    document = {"decision": {"verdict": "expire", "by": None, "comment": "", **decision}}
    return Outcome("r1", "expired", None, "", None, None, None, document)


def raised(outcome: Outcome) -> NotApproved:
    """Return the error of running a call with this outcome, which is the same on a loop."""
    desk, ruling = Desk("http://desk.invalid", "pp_x"), gate.Ruling(outcome, question=False)
    with pytest.raises(NotApproved) as error:
        gate.run(desk, ruling, lambda: pytest.fail("It ran."))
    with pytest.raises(type(error.value)):
        asyncio.run(gate.arun(desk, ruling, lambda: pytest.fail("It ran.")))
    return error.value


def test_a_halted_call_raises_halted_with_words_for_the_model():
    error = raised(expired(halted=True))
    assert (type(error), error.outcome.halted) == (Halted, True)
    assert str(error) == (
        "No one decided in time, so this call was not run, and the policy stops the run now. Do nothing else, and tell "
        "the person you work for."
    )


@pytest.mark.parametrize("decision", [{}, {"halted": False}])
def test_another_deadline_and_an_older_server_are_no_halt(decision):
    error = raised(expired(**decision))
    assert (type(error), error.outcome.halted) == (NotApproved, False)
    assert str(error) == "No one decided in time, so this call was not run."
