"""Ending a request: rights, verdicts, and the stored rows."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from approvals import actions
from approvals.actions.checking import MAX_COMMENT, MAX_VALUE_BYTES
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.asking.digests import input_digest
from approvals.exceptions import AlreadyDecided, Invalid, Refusal
from approvals.models import ApprovalRequest, Decision
from approvals.models.actors import KeyActor
from approvals.states import Door, Kind, Verdict
from tests.support.desk.requests import REFUND, cancel, decide, decisions, events, make_request, stored
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

LESS = {"amount": 50, "orderId": "4711"}
SAID = {Verdict.EDIT: {"edited_input": LESS}, Verdict.RESPOND: {"answer": "blue"}}
ENDS = {
    ("approval", "approve"): "approved",
    ("approval", "reject"): "rejected",
    ("approval", "edit"): "approved",
    ("question", "reject"): "rejected",
    ("question", "respond"): "answered",
    ("form", "reject"): "rejected",
    ("form", "respond"): "answered",
    ("recovery", "approve"): "approved",
    ("recovery", "reject"): "rejected",
    ("recovery", "respond"): "answered",
}
SPOKEN = [Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND]


def refused(kind: type[Refusal], act, *args, **said):
    with pytest.raises(Refusal) as caught:
        act(*args, **said)
    assert type(caught.value) is kind
    return caught.value


@pytest.mark.parametrize("verdict", SPOKEN)
@pytest.mark.parametrize("kind", list(Kind))
def test_each_kind_accepts_its_own_verdicts_only(kind, verdict):
    request, decider = make_request(alice(), kind), bob()
    ends = ENDS.get((kind.value, verdict.value))
    if ends is None:
        assert refused(Invalid, decide, request, decider, verdict, **SAID.get(verdict, {})).errors == {
            "verdict": "is not possible for this kind of request"
        }
        assert (stored(request).status, decisions(request), events(request)) == ("pending", [], ["request.created"])
        return
    outcome = decide(request, decider, verdict, comment="Because.", **SAID.get(verdict, {}))
    assert (outcome.replayed, decisions(request)) == (False, [outcome.decision])
    found = Decision.objects.get()
    assert (stored(request).status, found.verdict, found.comment) == (ends, verdict.value, "Because.")
    assert (found.by_id, found.by_name, found.via, found.door) == (decider.pk, "bob", "dashboard", "web")
    assert found.edited_input == (LESS if verdict == Verdict.EDIT else None)
    assert found.answer == ("blue" if verdict == Verdict.RESPOND else None)
    approved = {"approve": request.input_digest, "edit": input_digest(LESS)}
    assert found.approved_digest == approved.get(verdict.value, "")
    assert events(request) == ["request.created", "request.decided"]


ENDINGS = {
    "approved just now by bob": lambda r, by: decide(r, by, Verdict.APPROVE),
    "approved with changes just now by bob": lambda r, by: decide(r, by, Verdict.EDIT, edited_input=LESS),
    "rejected just now by bob": lambda r, by: decide(r, by, Verdict.REJECT),
    "cancelled just now by bob": lambda r, by: cancel(r, by),
    "cancelled just now by Pausepoint": lambda r, by: actions.cancel_requests(
        [r.pk], by=None, via=Door.SYSTEM, comment=""
    ),
    "answered just now by Pausepoint": lambda r, by: actions.settle(r.pk, Answer(Verdict.RESPOND, answer="done")),
}


@pytest.mark.parametrize("winner", list(ENDINGS))
def test_an_ended_request_never_changes_and_every_refusal_names_who_ended_it(winner):
    request, late = make_request(alice()), make_person("dora", "decide_approvalrequest")
    ENDINGS[winner](request, bob())
    before = (ApprovalRequest.objects.values().get(), Decision.objects.values().get(), events(request))
    decision = Decision.objects.get()
    words = f"This request was {winner}."
    refusals = [refused(AlreadyDecided, decide, request, late, v, **SAID.get(v, {})) for v in SPOKEN]
    refusals.append(refused(AlreadyDecided, cancel, request, late))
    assert [(str(refusal), refusal.decision) for refusal in refusals] == [(words, decision)] * 5
    actions.cancel_requests([request.pk], by=late, via=Door.STOP, comment="late")
    actions.settle(request.pk, Answer(Verdict.APPROVE, comment="late"))
    assert actions.expire(request.pk) is False
    assert (ApprovalRequest.objects.values().get(), Decision.objects.values().get(), events(request)) == before


AMOUNTS = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 100}}, "required": ["amount"]}


@pytest.mark.parametrize(
    ("edited", "errors"),
    [
        ({"amount": "all"}, {"edited_input.amount": "must be a whole number"}),
        ({"amount": 101}, {"edited_input.amount": "must be at most 100"}),
        ({}, {"edited_input.amount": "is missing"}),
        ([50], {"edited_input": "must be a JSON object"}),
        ({"amount": float("nan")}, {"edited_input": "NaN and Infinity are not JSON"}),
        ({"note": "x" * MAX_VALUE_BYTES}, {"edited_input": "larger than 250,000 bytes"}),
    ],
)
def test_an_edit_that_violates_the_schema_is_refused_by_field(edited, errors):
    request = make_request(alice(), response_schema=AMOUNTS)
    assert refused(Invalid, decide, request, bob(), Verdict.EDIT, edited_input=edited).errors == errors
    assert (stored(request).status, decisions(request)) == ("pending", [])


def test_a_valid_edit_is_stored_with_the_digest_of_the_input_that_may_run():
    request = make_request(alice(), response_schema=AMOUNTS)
    decide(request, bob(), Verdict.EDIT, edited_input=LESS)
    assert [(d.verdict, d.edited_input, d.approved_digest) for d in decisions(request)] == [
        ("edit", LESS, input_digest(LESS))
    ]


@pytest.mark.parametrize("schema", [None, AMOUNTS])
@pytest.mark.parametrize("same", [{"orderId": "4711", "amount": 120}, {"amount": 120.0, "orderId": "4711"}])
def test_an_edit_that_changes_nothing_is_an_approval(same, schema):
    request = make_request(alice(), response_schema=schema)
    decide(request, bob(), Verdict.EDIT, edited_input=same)
    (found,) = decisions(request)
    assert (found.verdict, found.edited_input, found.approved_digest) == ("approve", None, request.input_digest)


@pytest.mark.parametrize(
    ("asked", "edited"),
    [
        ({"all": 1}, {"all": True}),
        ({"all": False}, {"all": 0}),
        ({"lines": [{"paid": 0}]}, {"lines": [{"paid": False}]}),
    ],
)
def test_a_truth_value_in_the_place_of_a_number_is_a_change(asked, edited):
    request = make_request(alice(), input=asked)
    decide(request, bob(), Verdict.EDIT, edited_input=edited)
    (found,) = decisions(request)
    # As text, because True equals 1 in Python.
    assert (found.verdict, json.dumps(found.edited_input)) == ("edit", json.dumps(edited))
    assert found.approved_digest == input_digest(edited)


ORDER = {
    "type": "object",
    "properties": {"items": {"items": {"properties": {"name": {"type": "string"}}}}, "paid": {"type": "boolean"}},
}


def test_an_answer_is_checked_against_the_schema_and_each_error_has_its_path():
    request, owner = make_request(person := alice(), Kind.FORM, response_schema=ORDER), person
    wrong = {"items": [{"name": "tea"}, {"name": 7}], "paid": "yes"}
    assert refused(Invalid, decide, request, owner, Verdict.RESPOND, answer=wrong).errors == {
        "answer.items.1.name": "must be text",
        "answer.paid": "must be yes or no",
    }
    assert decisions(request) == []
    right = {"items": [{"name": "tea"}], "paid": True}
    assert decide(request, owner, Verdict.RESPOND, answer=right).decision.answer == right


@pytest.mark.parametrize(
    ("kind", "verdict", "said", "errors"),
    [
        (Kind.QUESTION, Verdict.RESPOND, {}, {"answer": "is missing"}),
        (
            Kind.QUESTION,
            Verdict.RESPOND,
            {"answer": "a\x00b"},
            {"answer": "text contains a NUL or an unpaired surrogate"},
        ),
        (Kind.QUESTION, Verdict.REJECT, {"answer": "no"}, {"answer": "is not allowed with this verdict"}),
        (Kind.APPROVAL, Verdict.EDIT, {}, {"edited_input": "is missing"}),
        (Kind.APPROVAL, Verdict.APPROVE, {"edited_input": LESS}, {"edited_input": "is not allowed with this verdict"}),
        (Kind.APPROVAL, Verdict.REJECT, {"comment": "x" * 5001}, {"comment": "is longer than 5,000 characters"}),
    ],
)
def test_missing_superfluous_and_too_long_fields_are_refused_by_name(kind, verdict, said, errors):
    request = make_request(alice(), kind)
    assert refused(Invalid, decide, request, bob(), verdict, **said).errors == errors
    assert (stored(request).status, decisions(request)) == ("pending", [])


def test_comments_of_decisions_and_cancellations_are_stripped_cleaned_and_bounded():
    decider = bob()
    one, two = make_request(decider), make_request(decider)
    assert decide(one, decider, Verdict.REJECT, comment=" a\x00 ").decision.comment == "a\ufffd"
    assert refused(Invalid, cancel, two, decider, "x" * (MAX_COMMENT + 1)).errors == {
        "comment": "is longer than 5,000 characters"
    }
    assert cancel(two, decider, f" {'x' * MAX_COMMENT}\n").decision.comment == "x" * MAX_COMMENT


def test_a_reference_to_another_schema_is_never_fetched_and_the_answer_is_refused():
    fetched = []

    class Witness(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            fetched.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Witness) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for ref in (f"http://127.0.0.1:{server.server_port}/secret", "#/nowhere", "#"):
            request = make_request(person := make_person(ref[-6:]), Kind.FORM, response_schema={"$ref": "#"})
            # A new request cannot have such a schema; an old row may.
            ApprovalRequest.objects.filter(pk=request.pk).update(response_schema={"$ref": ref})
            assert list(refused(Invalid, decide, request, person, Verdict.RESPOND, answer=1).errors) == ["answer"]
            assert decide(request, person, Verdict.REJECT).decision.verdict == "reject"
        server.shutdown()
    assert fetched == []


@pytest.mark.parametrize(
    ("kind", "verdict", "said", "otherwise"),
    [
        (Kind.APPROVAL, Verdict.APPROVE, {}, (Verdict.REJECT, {})),
        (Kind.APPROVAL, Verdict.REJECT, {"comment": "no"}, (Verdict.REJECT, {"comment": "never"})),
        (Kind.APPROVAL, Verdict.EDIT, {"edited_input": LESS}, (Verdict.EDIT, {"edited_input": {"amount": 51}})),
        (Kind.APPROVAL, Verdict.EDIT, {"edited_input": REFUND}, (Verdict.EDIT, {"edited_input": LESS})),
        (Kind.QUESTION, Verdict.RESPOND, {"answer": {"n": 1}}, (Verdict.RESPOND, {"answer": {"n": True}})),
        (Kind.QUESTION, Verdict.RESPOND, {"answer": None}, (Verdict.RESPOND, {"answer": False})),
    ],
)
def test_only_the_same_person_with_the_same_answer_gets_the_decision_back(kind, verdict, said, otherwise):
    request, decider = make_request(alice(), kind), bob()
    first = decide(request, decider, verdict, **said).decision
    again = decide(request, decider, verdict, **said)
    assert (again.replayed, again.decision, decisions(request)) == (True, first, [first])
    assert refused(AlreadyDecided, decide, request, decider, otherwise[0], **otherwise[1]).decision == first
    other = refused(AlreadyDecided, decide, request, make_person("dora", "decide_approvalrequest"), verdict, **said)
    assert f"{first.get_verdict_display().lower()} just now by bob" in str(other)
    key = KeyActor(decider, create_key(decider, name="ci", scopes=["decide"])[0])
    assert refused(AlreadyDecided, decide, request, key, verdict, **said).decision == first
    assert events(request) == ["request.created", "request.decided"]
