"""Names in conditions are compared in their canonical form, whole or in part, however a client spells them."""

from __future__ import annotations

import pytest

from approvals.policy.spelling import spelled_as, texts_in


def test_the_texts_of_a_condition_are_found_in_both_kinds_of_quotes_longest_first():
    condition = """tool == "wire" || tool.startsWith('mcp__') || tool in ["b", 'a', "wire"] || agent == "" """
    assert texts_in(condition) == ["mcp__", "wire", "a", "b"]


@pytest.mark.parametrize(
    ("texts", "name", "spelled"),
    [
        (["wire"], "WIRE", "wire"),
        (["Wire"], "wire", "Wire"),
        (["wi"], "WIRE", "wiRE"),
        (["wi"], "WI_WI", "wi_wi"),
        (["pay"], "WIRE", "WIRE"),
        ([], "WIRE", "WIRE"),
        # Longer texts come first, and a part that one of them has is not spelled again.
        (["wire", "IR"], "WIRE_IR", "wire_IR"),
        (["Send", "eND"], "send_end", "Send_eND"),
        # A text of more letters than its canonical form is compared as a whole alone.
        (["straße"], "STRASSE", "straße"),
        (["straße"], "STRASSEN", "STRASSEN"),
        (["straße", "stra"], "STRASSEN", "straSSEN"),
        # Outside ASCII, the canonical form stands for the name.
        (["x"], "ÜBER", "über"),
        (["ÜB"], "über", "ÜBer"),
        (["aa"], "AAA", "aaA"),
        (["a"], "AAA", "aaa"),
    ],
)
def test_a_name_is_spelled_like_the_texts_that_equal_it_or_its_parts(texts, name, spelled):
    assert spelled_as(texts, name) == spelled
