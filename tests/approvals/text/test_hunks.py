"""Long texts are compared line by line; unchanged lines are folded with their number, and no line is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from approvals.text.hunks import MAX_LINES, Hunk, LinePair, hunks

TEXTS = st.lists(st.sampled_from(["a", "b", "", " c"]), max_size=40).map("\n".join)


def lines_of(start: int, end: int) -> list[LinePair]:
    """Return unchanged lines that are their own numbers."""
    return [LinePair(str(number), str(number), number, number) for number in range(start, end + 1)]


def test_unchanged_lines_are_folded_but_for_three_around_a_change():
    before = "\n".join(map(str, range(1, 31)))
    after = before.replace("\n15\n", "\nfifteen\nand more\n")
    shown = hunks(before, after)
    assert shown[:2] == [
        Hunk(lines_of(1, 11), folded=True),
        Hunk(
            [
                *lines_of(12, 14),
                LinePair("15", "fifteen", 15, 15),
                LinePair(None, "and more", None, 16),
                *[LinePair(str(number), str(number), number, number + 1) for number in (16, 17, 18)],
            ]
        ),
    ]
    assert (len(shown), shown[0].fold, shown[2].folded, shown[2].fold) == (
        3,
        "11 unchanged lines",
        True,
        "12 unchanged lines",
    )


def test_few_unchanged_lines_are_not_folded():
    before = "\n".join("abcdefghijk")
    assert [hunk.folded for hunk in hunks(f"1\n{before[:11]}\n2", f"3\n{before[:11]}\n4")] == [False]


def test_texts_of_one_line_and_of_too_many_have_no_hunks():
    many = "\n" * MAX_LINES
    assert (hunks("a", "b"), hunks(many, f"a{many}")) == ([], [])


@given(TEXTS, TEXTS)
def test_no_line_is_lost_or_moved(before, after):
    shown = hunks(before, after)
    pairs = [pair for hunk in shown for pair in hunk.pairs]
    if shown:
        assert "\n".join(pair.before for pair in pairs if pair.before is not None) == before
        assert "\n".join(pair.after for pair in pairs if pair.after is not None) == after
        assert [hunk for hunk in shown if hunk.folded and any(pair.changed for pair in hunk.pairs)] == []
        assert [pair.was for pair in pairs if pair.was is not None] == [*range(1, before.count("\n") + 2)]
