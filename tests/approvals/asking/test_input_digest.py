"""The digest of an input with its files: no two different inputs have the same hashed text, and none looks like files."""

from __future__ import annotations

import hashlib

from hypothesis import example, given
from hypothesis import strategies as st

from approvals.asking.digests import input_digest, input_text
from approvals.db.canonical_json import same_json

FILE = {"name": "a.txt", "media_type": "text/plain", "size": 1, "sha256": "0" * 64}
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5, "", "input", "salt"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "input", "attachments", "salt", "version"]), inner, max_size=3)
    ),
    max_leaves=6,
)
inputs = st.dictionaries(st.sampled_from(["a", "input", "attachments", "salt", "version"]), values, max_size=4)
files = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["a", "b"]), "size": st.integers(1, 2)}) | st.just(FILE), max_size=2
)
salts = st.sampled_from(["", "5a17", "1"])
approved = st.tuples(inputs, files, salts)


@given(approved, approved)
@example(({"input": {"a": 1}, "attachments": [FILE]}, [], ""), ({"a": 1}, [FILE], ""))
@example(({"a": 1}, [], ""), ({"a": True}, [], ""))
@example(({"a": 1}, [], ""), ({"a": 1.0}, [], ""))
def test_two_approved_things_have_one_text_only_if_they_are_the_same(one, other):
    same = all(same_json(mine, its) for mine, its in zip(one, other, strict=True))
    assert (input_text(*one) == input_text(*other)) == same


def test_an_input_that_lists_files_has_another_digest_than_the_input_with_these_files():
    assert input_digest({"input": {"a": 1}, "attachments": [FILE]}) != input_digest({"a": 1}, [FILE])


def test_the_hashed_text_is_canonical_json_that_names_its_form():
    text = b'{"attachments":[],"input":{"amount":120},"salt":null,"version":"pausepoint.input.1"}'
    assert input_text({"amount": 120}) == text
    assert input_digest({"amount": 120}) == "sha256:" + hashlib.sha256(text).hexdigest()
