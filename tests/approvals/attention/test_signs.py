"""Signs in decisions of how they were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from approvals.queries.attention.people import Made
from approvals.queries.attention.signs import Signs, signs_of

START = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)


def made(at: float, *, words: int | None = 40, unseen: int | None = 0, asked: float = -3600) -> Made:
    """A decision so many seconds after START; 40 words take ten seconds to read."""
    return Made(
        by_id=1,
        by_name="bob",
        request_id=UUID(int=1),
        decided_at=START + timedelta(seconds=at),
        requested_at=START + timedelta(seconds=asked),
        words=words,
        unseen=unseen,
    )


def one_after_another(decisions: Iterable[Made]) -> list[Made]:
    """The decisions of one person, each with when they made the one before it."""
    found = list(decisions)
    before = [None, *(each.decided_at for each in found)]
    return [replace(each, previous=previous) for each, previous in zip(found, before, strict=False)]


def hasty(*decisions: Made) -> tuple[int, int]:
    signs = signs_of(one_after_another(decisions))
    return signs.hasty, signs.readable


def test_a_decision_is_hasty_if_the_one_before_it_leaves_no_time_to_read():
    assert hasty(made(0), made(9)) == (1, 2)
    assert hasty(made(0), made(10)) == (0, 2)


def test_a_request_that_has_just_arrived_is_read_from_then_on():
    assert hasty(made(0), made(60, asked=51)) == (1, 2)
    assert hasty(made(60, asked=50)) == (0, 1)


def test_requests_that_were_decided_together_count_with_the_first():
    assert hasty(made(0), made(20), made(20.2), made(20.4)) == (0, 2)


def test_a_request_whose_words_are_not_known_says_nothing():
    assert hasty(made(0), made(1.5, words=None), made(2.9)) == (1, 2)


def test_the_last_decision_is_named_only_if_it_was_hasty():
    assert signs_of(one_after_another([made(0), made(4)])).last_hasty == (4.0, 10.0)
    assert signs_of(one_after_another([made(0), made(4), made(60)])).last_hasty is None


def test_series_are_approvals_in_a_row_with_unopened_parts():
    steps = [1, 2, None, 3, 0, 1, 1]
    signs = signs_of(made(60 * place, unseen=unseen) for place, unseen in enumerate(steps))
    assert (signs.approvals, signs.unseen, signs.longest, signs.series) == (6, 5, 3, 2)


def test_without_decisions_there_are_no_signs():
    assert signs_of([]) == Signs()
    assert (Signs().hasty_rate, Signs().unseen_rate) == (None, None)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 100_000),
            st.none() | st.integers(0, 5_000),
            st.none() | st.integers(0, 3),
            st.floats(-100_000, 100_000),
        )
    )
)
def test_figures_never_exceed_what_they_are_of(steps):
    decisions = [
        made(at, words=words, unseen=unseen, asked=asked) for at, words, unseen, asked in sorted(steps, key=str)
    ]
    decisions.sort(key=lambda each: each.decided_at)
    signs = signs_of(one_after_another(decisions))
    assert 0 <= signs.hasty <= signs.readable <= signs.decided == len(decisions)
    assert 0 <= signs.series <= signs.longest <= signs.unseen <= signs.approvals <= signs.decided
