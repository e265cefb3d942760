"""The stored form of a match is read strictly, and every fault is named."""

from __future__ import annotations

import json

import pytest

from approvals.db.json_pointer import is_pointer
from approvals.policy.documents import (
    MAX_BYTES,
    MAX_CHOICES,
    MAX_CONDITIONS,
    MAX_NAME,
    MAX_NAMES,
    MAX_POINTER,
    MAX_TEXT,
    InvalidMatch,
    match_from,
)


def faults_of(document: object) -> dict[str, str]:
    with pytest.raises(InvalidMatch) as refusal:
        match_from(document)
    assert str(refusal.value) == "The match is invalid."
    return {path: str(fault) for path, fault in refusal.value.faults.items()}


@pytest.mark.parametrize("pointer", ["a", "/a~", "/~2", "/a~/b", "x/y"])
def test_what_is_no_pointer_is_refused(pointer):
    assert not is_pointer(pointer)
    assert list(faults_of({"input": [{"pointer": pointer, "equals": 1}]})) == ["input.0.pointer"]


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ([], {"": "must be a JSON object"}),
        ({"tool": ["x"]}, {"tool": "is not known"}),
        ({"tools": "x"}, {"tools": "must be a list"}),
        ({"tools": []}, {"tools": "is an empty list, which matches nothing; leave it out to match anything"}),
        ({"tools": ["x"] * (MAX_NAMES + 1)}, {"tools": "has more than 100 items"}),
        ({"tools": ["x" * (MAX_NAME + 1)]}, {"tools.0": "must be text of 1 to 200 characters"}),
        ({"tools": ["x", ""]}, {"tools.1": "must be text of 1 to 200 characters"}),
        (
            {"agents": ["a\u200bb", " a"]},
            dict.fromkeys(("agents.0", "agents.1"), "contains an invisible character, or begins or ends with a space"),
        ),
        (
            {"input": [{"pointer": "/a", "members": ["x" * (MAX_NAME + 1)]}, {"pointer": "/a", "members": ["x", 1]}]},
            {f"input.{place}": "must be text of at most 200 characters" for place in ("0.members.0", "1.members.1")},
        ),
        ({"kinds": ["approvals"]}, {"kinds.0": "must be one of approval, form, question, recovery"}),
        (
            {"requesters": [True, "7", 0]},
            dict.fromkeys((f"requesters.{n}" for n in range(3)), "must be the number of a user"),
        ),
        ({"priorities": ["urgent"]}, {"priorities.0": "must be one of critical, high, low, normal"}),
        ({"kinds": [["form"]]}, {"kinds.0": "must be text of 1 to 200 characters"}),
        ({"input": [{"pointer": "/a", "equals": 1}] * (MAX_CONDITIONS + 1)}, {"input": "has more than 20 items"}),
        (
            {"input": ["x", {"pointer": "/a", "type": "x"}, {"pointer": "/a", "members": []}]},
            {
                "input.0": "must be a JSON object",
                "input.1.type": "must be one of address, addresses, amount, path, host, line, text",
                "input.2.members": "is an empty list, which matches nothing; leave it out to match anything",
            },
        ),
        (
            {"input": [{"pointer": "/a", "equals": 1, "regex": "x"}]},
            {"input.0.regex": "is not known"},
        ),
        (
            {"input": [{"pointer": "/" + "a" * MAX_POINTER, "equals": 1}, {"equals": 1}]},
            dict.fromkeys(
                ("input.0.pointer", "input.1.pointer"),
                "must be a JSON pointer of at most 200 characters, such as /amount or /customer/name",
            ),
        ),
        (
            {"input": [{"pointer": "/a"}, {"pointer": "/a", "equals": 1, "at_most": 2}]},
            dict.fromkeys(
                ("input.0", "input.1"),
                "needs exactly one test of its value: equals, one_of, at_least, at_most, more_than, less_than, starts_with, like",
            ),
        ),
        (
            {"input": [{"pointer": "/a", "one_of": [1] * (MAX_CHOICES + 1)}]},
            {"input.0.one_of": "has more than 100 items"},
        ),
        (
            {
                "input": [
                    {"pointer": "/a", "like": "x" * (MAX_TEXT + 1)},
                    {"pointer": "/a", "starts_with": 1},
                    {"pointer": "/a", "like": ""},
                ]
            },
            dict.fromkeys(
                ("input.0.like", "input.1.starts_with", "input.2.like"), "must be text of 1 to 1000 characters"
            ),
        ),
        *(
            (
                {"input": [{"pointer": "/a", name: 1, "more_than": 1}]},
                {
                    "input.0": "needs exactly one test of its value: equals, one_of, at_least, at_most, more_than, "
                    "less_than, starts_with, like"
                },
            )
            for name in ("at_most", "at_least", "less_than")
        ),
        ({"input": [{"pointer": "/a", "less_than": "1"}]}, {"input.0.less_than": "must be a number"}),
        ({"input": [{"pointer": "/a", "at_least": True}]}, {"input.0.at_least": "must be a number"}),
        (
            {"input": [{"pointer": "/a", "at_least": 2, "at_most": 1}]},
            {"input.0.at_most": "must not be less than at_least"},
        ),
        ({"input": [{"pointer": "/a", "at_most": float("nan")}]}, {"": "NaN and Infinity are not JSON"}),
        ({"input": [{"pointer": "/a", "equals": 2**53}]}, {"": "an integer is larger than 2^53; send it as a string"}),
        ({"input": [{"pointer": "/a", "one_of": ["x" * 900] * 30}]}, {"": "larger than 20,000 bytes"}),
    ],
)
def test_a_document_is_read_strictly_and_every_fault_is_named(document, faults):
    assert faults_of(document) == faults


def test_whatever_is_just_within_its_bounds_is_read():
    names = ["x" * MAX_NAME, *(f"{number}" for number in range(1, MAX_NAMES))]
    conditions = [
        {"pointer": "/" + "a" * (MAX_POINTER - 1), "like": "x" * MAX_TEXT},
        {"pointer": "/a", "starts_with": "x"},
        {"pointer": "/a", "one_of": [*range(MAX_CHOICES)]},
        {"pointer": "/a", "members": ["x" * MAX_NAME, ""]},
        {"pointer": "/a", "at_least": 1, "at_most": 1},
    ]
    more = [{"pointer": "/a", "equals": 1}] * (MAX_CONDITIONS - len(conditions))
    match = match_from({"tools": names, "requesters": [1], "input": [*conditions, *more]})
    assert (match.tools, len(match.conditions)) == (tuple(names), MAX_CONDITIONS)


def test_a_match_of_as_many_bytes_as_are_allowed_is_read_and_one_of_more_is_not():
    document = {"input": [{"pointer": "/a", "equals": ""}]}
    document["input"][0]["equals"] = "x" * (MAX_BYTES - len(json.dumps(document, separators=(",", ":"))))
    assert (MAX_BYTES, len(match_from(document).conditions)) == (20_000, 1)
    document["input"][0]["equals"] += "x"
    assert faults_of(document) == {"": "larger than 20,000 bytes"}
