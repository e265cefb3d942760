"""Questions in AgentForge's shape: limits, defaults, and problem documents for invalid bodies."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.api import ask_human
from approvals.asking.answers import ABSENT
from approvals.db.canonical_json import MAX_BYTES, MAX_DEPTH
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Workflow
from tests.support.machines import machine
from tests.support.people import alice

ADDRESS = "/api/v1/ask-human"
QUESTION = {"question": "Which colour?"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "question": st.text(max_size=300) | JSON,
        "context": st.dictionaries(st.text(max_size=5), JSON, max_size=3) | JSON,
        "priority": st.sampled_from(["low", "normal", "high", "critical", "LOW", "urgent"]) | JSON,
        "timeout": st.floats(allow_nan=False) | st.integers() | JSON,
        "defaultResponse": st.text(max_size=5) | JSON,
        "suggestions": st.lists(st.text(max_size=5) | JSON, max_size=4) | JSON,
        "somethingElse": JSON,
    },
)


@given(BODIES | JSON)
def test_any_object_is_a_valid_question_or_refused_by_field(body):
    if not isinstance(body, dict):
        return
    try:
        asked = ask_human.parse_question(body)
    except Invalid as refusal:
        assert refusal.errors.keys() <= set(ask_human.FIELDS)
        assert all(refusal.errors.values())
    else:
        asked.check()
        assert body["question"].strip() in {asked.title, asked.message.strip()} or not body["question"].strip()
        assert asked.priority == body.get("priority", "normal")
        assert asked.default_response == body.get("defaultResponse", ABSENT)
        assert list(asked.suggestions) == body.get("suggestions", [])
        assert (asked.deadline_at is not None) == (body.get("timeout", 0) > 0)
        assert asked.context == body.get("context")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("question", [None, "", 7, ["x"], "x" * 20_001, "a\x00b"]),
        ("context", [None, [], "x", 1, {"a": 2**60}, {"a": "\x00"}]),
        ("priority", [None, "LOW", "urgent", "", 1, ["low"], {}]),
        ("timeout", [None, -1, -0.5, "1000", True, False, 1e300, [], 10**30]),
        ("defaultResponse", [None, 0, False, [], "x" * 20_001]),
        ("suggestions", [None, "a", [1], [None], {}, ["x" * 501], ["x"] * 51]),
    ],
)
def test_a_value_that_agentforge_refuses_is_refused_by_name(field, values):
    for value in values:
        with pytest.raises(Invalid) as refusal:
            ask_human.parse_question({**QUESTION, field: value})
        assert (value, list(refusal.value.errors)) == (value, [field])


def test_a_missing_question_is_refused():
    with pytest.raises(Invalid) as refusal:
        ask_human.parse_question({})
    assert refusal.value.errors == {"question": "is missing"}


@pytest.mark.parametrize(
    "body",
    [
        {"question": " "},
        {"question": "x" * 20_000},
        {**QUESTION, "context": {}},
        {**QUESTION, "timeout": 0},
        {**QUESTION, "timeout": 0.25},
        {**QUESTION, "timeout": 30 * 86_400_000},
        {**QUESTION, "timeout": 0, "defaultResponse": ""},
        {**QUESTION, "suggestions": []},
        {**QUESTION, "suggestions": ["", "a", "a"], "defaultResponse": "not among them"},
        {**QUESTION, "unknown": {"is": "dropped"}},
    ],
)
def test_everything_that_agentforge_allows_is_accepted(body):
    ask_human.parse_question(body).check()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("wait", ["", "-1", "601", "1e2", "nan", "inf", "1,5", "٣", "99999", "1.2345"])
def test_an_invalid_wait_is_refused_and_nothing_is_asked(wait):
    answer = machine(alice()).post(f"{ADDRESS}?wait={'%D9%A3' if wait == '٣' else wait}", QUESTION)
    assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "invalid", ["wait"])
    assert ApprovalRequest.objects.count() == Workflow.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_body_of_the_largest_size_is_taken():
    body = b'{"question":"Which colour?","context":{"t":"%s"}}'
    raw = body % (b"x" * (MAX_BYTES - len(body % b"")))
    answer = machine(alice()).call("POST", ADDRESS, raw=raw)
    assert (len(raw), answer.status, ApprovalRequest.objects.count()) == (MAX_BYTES, 202, 1)


@pytest.mark.django_db(transaction=True)
def test_a_context_is_as_deep_as_the_input_that_holds_it_may_be():
    caller = machine(alice())
    answers = [
        caller.post(ADDRESS, QUESTION | {"context": functools.reduce(lambda inner, _: {"a": inner}, range(levels), 0)})
        for levels in (MAX_DEPTH - 1, MAX_DEPTH)
    ]
    assert [answer.status for answer in answers] == [202, 422]
    assert answers[1].json["errors"] == {"context": "nested too deeply"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("raw", "kind", "status", "code"),
    [
        (b"", "application/json", 400, "bad_body"),
        (b"{", "application/json", 400, "bad_body"),
        (b"[]", "application/json", 400, "bad_body"),
        (b'"x"', "application/json", 400, "bad_body"),
        (b'{"question": NaN}', "application/json", 400, "bad_body"),
        (b"\xff\xfe", "application/json", 400, "bad_body"),
        (b"[" * 100_000, "application/json", 400, "bad_body"),
        (b'{"question": "' + b"x" * 1_000_000 + b'"}', "application/json", 413, "too_large"),
        (b'{"question": "x"}', "text/plain", 415, "not_json"),
        (b'{"question": "\\ud800"}', "application/json", 422, "invalid"),
        (b'{"question": "x", "timeout": 1e999}', "application/json", 422, "invalid"),
        (b'{"question": "x", "timeout": 1e14}', "application/json", 422, "invalid"),
        (b"{}", "application/json", 422, "invalid"),
    ],
)
def test_an_invalid_body_gets_a_problem_document(raw, kind, status, code):
    answer = machine(alice()).call("POST", ADDRESS, raw=raw, headers={"content-type": kind})
    assert (answer.status, answer.code) == (status, code)
    assert Workflow.objects.count() == 0
