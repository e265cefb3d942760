"""Code in values gets colours: the text stays the same, and no text takes long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.forms.code_colours import LANGUAGES, MAX_CHARACTERS, is_prose, language_of, pieces
from approvals.templatetags.desk import changed_words, code

HOSTILE = ["'" * 20_000, "/*" * 20_000, '"\\' * 20_000, "- \n" * 15_000, "$" * 40_000, "${" * 20_000, "1e" * 20_000]


@pytest.mark.parametrize("language", LANGUAGES)
@given(st.text(alphabet="'\"\\-/*#${}+@ \n1eaZ:", max_size=300))
def test_the_pieces_together_are_the_text(language, text):
    assert "".join(words for _kind, words in pieces(text, language)) == text


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_texts_cost_one_pass(language):
    for text in HOSTILE:
        assert "".join(words for _kind, words in pieces(text, language)) == text


def test_the_language_is_known_by_name_or_content():
    found = {
        ("sql", "SELECT 1"): "sql",
        ("query", "select 1 from x"): "sql",
        ("query", "lamps"): "",
        ("body_json", '{"a": 1}'): "json",
        ("json", "not"): "",
        ("payload", "[1]"): "json",
        ("payload", "[1"): "",
        ("command", "ls -l"): "shell",
        ("change", "--- a\n+++ b\n"): "diff",
        ("note", "--- a"): "",
        ("sql", "x" * (MAX_CHARACTERS + 1)): "",
    }
    assert {key: language_of(*key) for key in found} == found


def test_code_is_escaped():
    assert code("<b>", "note") == "<b>"
    assert code("SELECT '<b>'", "sql") == (
        '<span class="tok-keyword">SELECT</span><span class="tok"> </span>'
        '<span class="tok-string">&#x27;&lt;b&gt;&#x27;</span>'
    )


def test_each_side_of_a_change_marks_its_own_words():
    assert changed_words("pay 5 <now>", "pay 7 <now>", "before") == (
        "<span>pay </span><del>5 </del><span>&lt;now&gt;</span>"
    )
    assert changed_words("pay 5 <now>", "pay 7 <now>", "after") == (
        "<span>pay </span><ins>7 </ins><span>&lt;now&gt;</span>"
    )


MAIL = "Dear Ada,\n\nyour voucher:\n\n    SPRING-25\n\nWe look forward to your visit.\n\nKind regards\n    Ben\n    Support"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MAIL, True),
        ("Please bring:\n- a cable\n  - two metres\n  - white\n", True),
        (f"See https://example.com/{'x' * 200}\nThanks", True),
        ("def total(lines):\n    return sum(lines)\n", False),
        ("name     amount\nAda          12\nBen           7", False),
        ("on:\n\tpush:\n\t\tbranches: main\n", False),
        ("x" * 200, False),
    ],
)
def test_most_lines_decide_whether_a_text_is_prose(text, expected):
    assert is_prose(text) == expected
