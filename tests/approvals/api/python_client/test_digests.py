"""The Python client computes the digests of the desk, of any input with any files, with a salt or without one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pausepoint import AsyncDesk, Desk, input_digest
from pausepoint.desk.digests import canonical
from pausepoint.desk.outcomes import outcome_of
from pausepoint.desk.transport import Call

from approvals.asking.digests import input_digest as desks
from approvals.db import canonical_json
from tests.approvals.api.python_client.test_answers import NOT_RUN

FILE = {"name": "ü.txt", "media_type": "text/plain", "size": 3, "sha256": "0" * 64}
#: Values that the desk accepts: no NUL and no half of a surrogate pair, and integers that JavaScript can represent.
texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(values)
@example({"\ufb33": 1, "\U0001f602": 2, "\u20ac": 3, "\r": 4, "1": 5, "": -0.0})
@example([333333333.33333329, 1e30, 4.5, 2e-3, 1e-27, 1e21, 1e20, 123456789012345680000.0, 5e-324])
def test_the_canonical_form_is_that_of_the_desk(value):
    assert canonical(value).encode() == canonical_json.canonical(value)


@given(st.dictionaries(texts, values, max_size=3), st.lists(st.just(FILE), max_size=2), st.none() | st.just("5a17"))
def test_a_digest_is_that_of_the_desk(value, files, salt):
    shown = [file | {"url": "https://desk.example.org/"} for file in files]
    assert input_digest(value, shown, salt) == desks(value, files, salt or "")


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), float("inf"), b"x"])
def test_what_is_no_json_has_no_digest(value):
    with pytest.raises(ValueError, match="JSON"):
        input_digest({"a": value})


def document(**decision: Any) -> dict[str, Any]:
    return NOT_RUN | {"attachments": [FILE], "decision": NOT_RUN["decision"] | decision}


def test_an_outcome_says_whether_its_digest_is_that_of_its_input():
    value = NOT_RUN["decision"]["approved_input"]
    salted = {"approved_digest": desks(value, [FILE], "5a17")}
    outcomes = [
        document(approved_digest=desks(value, [FILE])),
        document(approved_digest=desks(value)),
        document(**salted, digest_salt="5a17"),
        document(**salted, digest_salt=None),
        NOT_RUN | {"status": "rejected"},
    ]
    assert [outcome_of(each).verified for each in outcomes] == [True, False, True, False, False]


def test_a_call_without_an_id_gets_a_name_that_only_its_key_makes():
    names = {Desk("https://desk.example.org", key).name_of("refund 4711") for key in ("one", "one", "other")}
    assert sorted(map(len, names)) == [40, 40]


def test_a_function_gives_the_token_of_each_attempt_and_names_come_from_a_secret():
    tokens = iter(("one", "two"))
    desk = Desk("https://desk.example.com", lambda: next(tokens), secret="the same everywhere")
    call = Call("GET", "/requests")
    sent = [desk._request(call)["headers"]["Authorization"] for _ in range(2)]
    assert sent == ["Bearer one", "Bearer two"]
    other = AsyncDesk("https://desk.example.com", lambda: "three", secret="the same everywhere")
    assert desk.name_of("content") == other.name_of("content")
    with pytest.raises(ValueError, match="give `secret`, or set PAUSEPOINT_SECRET"):
        Desk("https://desk.example.com", lambda: "one").name_of("content")
    with pytest.raises(ValueError, match="only printable ASCII"):
        Desk("https://desk.example.com", lambda: "to\nken")._request(call)
