"""Answers to questions with options have one shape and only offered options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals import actions
from approvals.asking.answers import Answer, answer_to, to_choice
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Verdict
from tests.support.desk.requests import PAST, decide, make_request
from tests.support.machine import QUESTION, Machine
from tests.support.people import alice, bob

SIZES = [{"label": "S"}, {"label": "M"}, {"label": "L"}]
S = {"fieldName": "size", "selected": ["S"], "selectedIndex": 0}
BOTH = {"fieldName": "size", "selected": ["S", "L"], "selectedIndex": [0, 2]}
WORDS = {"fieldName": "size", "selected": [], "selectedIndex": None, "text": "XXL"}


def question(**fields) -> ApprovalRequest:
    return ApprovalRequest(**{"kind": Kind.QUESTION, "options": SIZES, "field_name": "size"} | fields)


@pytest.mark.parametrize(
    ("fields", "sent", "answer"),
    [
        ({}, "S", S),
        ({}, ["S"], S),
        ({}, {"selected": ["S"]}, S),
        ({}, {"selectedIndex": 0}, S),
        ({}, S, S),
        ({"multiple": True}, ["L", "S", "L"], BOTH),
        ({"multiple": True}, {"selectedIndex": [0, 2]}, BOTH),
        ({"multiple": True}, BOTH, BOTH),
        ({"allow_text": True}, "XXL", WORDS),
        ({"allow_text": True}, {"text": "XXL"}, WORDS),
        ({"allow_text": True}, WORDS, WORDS),
        ({"allow_text": True}, "S", S),
    ],
)
def test_an_answer_of_a_program_gets_the_shape_of_choices(fields, sent, answer):
    assert to_choice(question(**fields), sent) == answer


@pytest.mark.parametrize(
    ("fields", "sent", "errors"),
    [
        ({}, "XXL", {"answer": "is not one of the options"}),
        ({}, ["S", 1], {"answer": "is not one of the options"}),
        ({}, ["S", "M"], {"answer": "has more than one option"}),
        ({}, [], {"answer": "is empty"}),
        ({}, {}, {"answer": "is empty"}),
        ({}, None, {"answer": "is not a label, a list of labels, or an answer object"}),
        ({}, 0, {"answer": "is not a label, a list of labels, or an answer object"}),
        ({}, {"selected": "S"}, {"answer.selected": "is not a list of labels"}),
        ({}, {"selected": ["S"], "text": "!"}, {"answer": "does not accept text"}),
        ({}, {"selected": ["S"], "text": 1}, {"answer.text": "is not text"}),
        (
            {},
            {"selected": ["S"], "selectedIndex": 1},
            {"answer.selectedIndex": "does not match the options in `selected`"},
        ),
        ({}, {"selectedIndex": True}, {"answer.selectedIndex": "is not one of the options"}),
        ({}, {"selectedIndex": 3}, {"answer.selectedIndex": "is not one of the options"}),
        ({}, {"selected": ["S"], "extra": 1}, {"answer.extra": "is not allowed here"}),
        ({}, S | {"fieldName": "colour"}, {"answer.fieldName": "is not “size”, the subject of the request"}),
        ({"allow_text": True}, " ", {"answer": "is empty"}),
    ],
)
def test_an_option_that_is_not_offered_is_refused_by_field(fields, sent, errors):
    with pytest.raises(Invalid) as refusal:
        to_choice(question(**fields), sent)
    assert refusal.value.errors == errors


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.sampled_from(["S", "M", "XXL", ""]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["selected", "selectedIndex", "text", "fieldName", "x"]), below, max_size=4)
    ),
    max_leaves=6,
)


@given(JSON, st.booleans(), st.booleans())
def test_any_json_is_refused_or_becomes_a_choice_that_stays_the_same(sent, multiple, allow_text):
    asked = question(multiple=multiple, allow_text=allow_text)
    try:
        answer = to_choice(asked, sent)
    except Invalid as refusal:
        assert refusal.errors != {}
        return
    places = answer["selectedIndex"] if multiple else [answer["selectedIndex"]]
    chosen = [place for place in places if place is not None]
    assert answer == answer_to(asked, chosen=chosen, text=answer.get("text", "")) == to_choice(asked, answer)


@pytest.mark.django_db
@pytest.mark.shows("rest", "answer")
def test_over_rest_a_label_is_an_answer_and_repeating_it_a_replay():
    decider = Machine(bob())
    asked = Machine(alice()).ask(QUESTION, options=SIZES, field_name="size")
    assert decider.decide(asked, "respond", answer="XXL").body["errors"] == {"answer": "is not one of the options"}
    first, again = (decider.decide(asked, "respond", answer="S") for _ in range(2))
    assert (first.body["decision"]["answer"], first.replayed, again.replayed) == (S, False, True)
    assert decider.decide(asked, "respond", answer="M").refusal == (409, "already_decided")


@pytest.mark.django_db
def test_a_default_is_one_of_the_options_and_is_stored_as_a_choice():
    agent = Machine(alice())
    asked = agent.ask(QUESTION, options=SIZES, field_name="size", default_response="S")
    assert asked["default_response"] == S
    for default, errors in (
        ("XXL", {"default_response": "is not one of the options"}),
        (["S", "M"], {"default_response": "has more than one option"}),
        ({"selected": 1}, {"default_response.selected": "is not a list of labels"}),
    ):
        refused = agent.post("/requests", QUESTION | {"options": SIZES, "default_response": default})
        assert (refused.refusal, refused.body["errors"]) == ((422, "invalid"), errors)
    late = make_request(agent.key.user, Kind.QUESTION, options=SIZES, default_response=["M"], deadline_at=PAST)
    assert actions.expire(late.pk)
    assert Decision.objects.get(request=late).answer == {"fieldName": "", "selected": ["M"], "selectedIndex": 1}


@pytest.mark.django_db
def test_a_response_schema_replaces_the_shape_of_choices():
    agent = Machine(alice())
    asked = agent.ask(QUESTION, options=SIZES, response_schema={"enum": ["S", "M", "L"]}, default_response="M")
    assert asked["default_response"] == "M"
    assert Machine(bob()).decide(asked, "respond", answer="L").body["decision"]["answer"] == "L"


@pytest.mark.django_db
@pytest.mark.parametrize("door", [Door.AI_SDK, Door.CEDAR])
def test_a_chat_client_answers_in_its_own_shape(door):
    owner = alice()
    asked = make_request(owner, Kind.QUESTION, options=SIZES)
    made = actions.decide(asked.pk, Answer(Verdict.RESPOND, answer={"size": "any"}), by=owner, via=door).decision
    assert made.answer == {"size": "any"}


@pytest.mark.django_db
def test_without_options_any_answer_is_accepted():
    asked = make_request(alice(), Kind.QUESTION)
    assert decide(asked, bob(), Verdict.RESPOND, answer={"n": [1]}).decision.answer == {"n": [1]}
