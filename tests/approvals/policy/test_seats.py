"""A person's possible seats: their own and those of absent people, and none for requests of an agent that they run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.absence import seats

people = st.integers(1, 6)


@given(people, st.lists(people), st.sets(people))
def test_own_seat_comes_first_and_runners_neither_give_nor_get_one(person, away, runners):
    result = seats(person, away, runners)
    assert result[0] == person
    assert set(result[1:]) == (set() if person in runners else set(away) - runners - {person})
    assert len(set(result)) == len(result)
