"""The Python client and any answer: a request is approved only if the answer says exactly that."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint import DeskError, NotUnderstood, Outcome, calls, leases
from pausepoint.desk import asking, requests, resuming
from pausepoint.desk.outcomes import outcome_of
from pausepoint.desk.transport import Flow, Pause

from tests.approvals.api.python_client.test_flows import said

DECISION = {
    "verdict": "approve",
    "by": "bob",
    "comment": "Go.",
    "answer": None,
    "approved_input": {"amount": 60},
    "approved_digest": "sha256:1",
    "halted": False,
}
APPROVED = {
    "id": "r1",
    "url": "https://desk/requests/r1/",
    "status": "approved",
    "kind": "approval",
    "tool_name": "refund",
    "decision": DECISION,
    "votes": {"progress": "1 of 2", "cast": []},
    "result": {"state": "succeeded", "output": 1, "error": None},
}
NOT_RUN = APPROVED | {"result": None}
CLAIMED = {"token": "ppr_1", "state": None, "attempt": 1, "lost_by": None, "request": NOT_RUN}
PAGE = {"items": [APPROVED], "next": None}
VERBS: list[Callable[[], Flow[Any]]] = [
    lambda: asking.ask(1, "Pay?", "", {}),
    lambda: asking.await_human(1, "Pay?", "", 0, {}),
    lambda: asking.wait(1, "r1", 0),
    lambda: asking.cancel(1, "r1", ""),
    lambda: requests.get(1, "r1"),
    lambda: requests.pages(1, "requests", {}),
    lambda: requests.decide(1, "r1", "approve", "", {}),
    lambda: requests.advise(1, "r1", "looks_fine", "It does.", None, None),
    lambda: requests.revoke(1, "g1", ""),
    lambda: requests.end_workflow(1, "w1", "completed"),
    lambda: requests.report(1, outcome_of(NOT_RUN), {"output": 1}),
    lambda: resuming.take(1, ["r1"], "", 60),
    lambda: leases.claim(1, outcome_of(NOT_RUN), {}),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["approved", "approve", "edit", "halt", "halted", "pending", "expired"]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=8), values, max_size=3),
    max_leaves=6,
)  # fmt: skip
ABSENT = object()


def paths(document: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every member of a document is."""
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for name, value in members:
        yield (*prefix, name)
        if isinstance(value, dict | list):
            yield from paths(value, (*prefix, name))


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """An answer of the server in which up to three members are missing or something else; or any JSON object."""
    document = copy.deepcopy(draw(st.sampled_from([APPROVED, NOT_RUN, CLAIMED, PAGE])))
    if draw(st.integers(0, 4)) == 0:
        return draw(st.dictionaries(st.text(max_size=8), json_values, max_size=4))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(paths(document))))
        holder = document
        for name in way:
            holder = holder[name]
        value = draw(st.just(ABSENT) | json_values)
        if value is not ABSENT:
            holder[last] = value
        else:
            del holder[last]
        if not document:
            break
    return document


def heard(flow: Flow[Any], answer: Any, status: int) -> Any:
    """Return the result of a flow that gets the same answer to each of its calls; None if it does not end."""
    reply = None
    for _ in range(30):
        try:
            step = flow.send(reply)
        except StopIteration as done:
            return done.value
        reply = None if isinstance(step, Pause) else said(answer, status)
    return None


def says_so(document: dict[str, Any]) -> bool:
    """Whether a request is approved, by the API's documentation."""
    made = document["decision"]
    return (document["status"], made["verdict"] in ["approve", "edit"], made.get("halted") or False) == (
        "approved",
        True,
        False,
    )


@pytest.mark.parametrize("verb", VERBS)
@given(answer=answers(), status=st.sampled_from([200, 201, 404, 409, 422]))
def test_no_answer_approves_what_it_does_not_say_and_none_breaks_the_client(verb, answer, status):
    try:
        found = heard(verb(), answer, status)
    except DeskError:
        return
    outcomes = [found] if isinstance(found, Outcome) else [found.outcome] if isinstance(found, leases.Claim) else []
    outcomes += found.outcomes.values() if isinstance(found, resuming.Resume) else []
    for outcome in outcomes:
        # All that an adapter reads of it.
        assert isinstance(calls.refusal(outcome) + calls.note(outcome) + calls.answer_text(outcome), str)
        if outcome.approved:
            assert says_so(dict(outcome.document))
            assert outcome.input == outcome.document["decision"]["approved_input"]


def changed(**decision: Any) -> dict[str, Any]:
    return NOT_RUN | {"decision": DECISION | decision}


def without(*names: str) -> dict[str, Any]:
    return NOT_RUN | {"decision": {name: value for name, value in DECISION.items() if name not in names}}


@pytest.mark.parametrize(
    "document",
    [
        changed(verdict="halt"),
        changed(verdict="approve_once"),
        changed(verdict=["approve"]),
        changed(halted=True),
        changed(approved_input=None),
        changed(approved_input=[1]),
        without("approved_input"),
        without("approved_digest"),
        without("verdict"),
        NOT_RUN | {"decision": None},
        NOT_RUN | {"result": "it ran"},
        NOT_RUN | {"result": {}},
    ],
)
def test_an_approval_that_says_something_else_beside_it_is_not_understood(document):
    with pytest.raises(NotUnderstood) as refused:
        outcome_of(document)
    assert (refused.value.code, isinstance(refused.value, DeskError)) == ("not_understood", True)


@pytest.mark.parametrize("status", ["halted", "Approved", "approved ", "conditionally_approved", ""])
def test_a_status_that_the_client_does_not_know_is_no_approval(status):
    outcome = outcome_of(NOT_RUN | {"status": status})
    assert (outcome.approved, outcome.input, outcome.digest) == (False, None, None)


def test_an_older_server_that_sends_fewer_members_is_understood():
    fewest = {name: DECISION[name] for name in ("verdict", "approved_input", "approved_digest")}
    outcome = outcome_of({"id": "r1", "status": "approved", "decision": fewest})
    assert (outcome.approved, outcome.halted, outcome.comment, outcome.result) == (True, False, "", None)
    fewer = outcome_of({"id": "r1", "status": "rejected"})
    assert (fewer.approved, fewer.edited, fewer.votes, fewer.by) == (False, False, None, None)


@pytest.mark.parametrize("document", [{}, {"decision": None}, {"decision": "approve", "votes": 1}])
def test_an_outcome_without_its_document_has_no_changes_and_no_votes(document):
    outcome = Outcome("r1", "approved", "bob", "", None, {"amount": 1}, "sha256:1", document)
    assert (outcome.approved, outcome.edited, outcome.halted, outcome.votes, outcome.result) == (
        True,
        False,
        False,
        None,
        None,
    )


def test_an_outcome_that_halts_is_not_approved_whatever_its_status_says():
    assert not Outcome("r1", "approved", None, "", None, {}, "", {"decision": {"halted": True}}).approved
