"""Gaps in the ids of entries: open as long as an entry can still appear, and no longer."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from approvals.record.sequence import Horizon

NOBODY = frozenset[str]()


def test_without_running_transactions_every_entry_is_final_at_once():
    assert Horizon().look(last=7, writers=NOBODY) == 7


def test_a_running_transaction_keeps_later_entries_open_until_it_ends():
    horizon = Horizon()
    assert horizon.look(last=7, writers={"3/1"}) == 0
    assert horizon.look(last=9, writers={"3/1", "4/1"}) == 0
    # The one that began meanwhile may still fill a later gap.
    assert horizon.look(last=12, writers={"4/1"}) == 7
    assert horizon.look(last=13, writers=NOBODY) == 13


def test_a_later_transaction_does_not_keep_an_earlier_gap_open():
    horizon = Horizon()
    assert horizon.look(last=7, writers={"3/1"}) == 0
    assert horizon.look(last=9, writers={"3/2"}) == 7


@dataclass
class Desk:
    """A model of PostgreSQL's transactions, which take ids and commit or roll back in any order."""

    coming: int = 1
    last: int = 0
    working: dict[int, list[int]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def begin(self) -> None:
        self.working[self.coming] = []
        self.coming += 1

    def draw(self, which: int) -> None:
        if self.working:
            self.last += 1
            self.working[sorted(self.working)[which % len(self.working)]].append(self.last)

    def end(self, which: int, *, commits: bool) -> None:
        if self.working:
            drawn = self.working.pop(sorted(self.working)[which % len(self.working)])
            self.seen |= set(drawn if commits else ())

    def settled(self, horizon: Horizon) -> int:
        return horizon.look(last=max(self.seen, default=0), writers={str(number) for number in self.working})

    def can_still_come_below(self, entry: int) -> bool:
        return any(number < entry for drawn in self.working.values() for number in drawn)


DEEDS = st.lists(st.tuples(st.sampled_from(["begin", "draw", "draw", "commit", "give up", "look"]), st.integers(0, 9)))


@given(DEEDS)
def test_final_entries_stay_final_and_every_entry_becomes_final(deeds):
    desk, horizon, final = Desk(), Horizon(), set[int]()
    for deed, which in deeds:
        match deed:
            case "begin":
                desk.begin()
            case "draw":
                desk.draw(which)
            case "look":
                settled = desk.settled(horizon)
                final |= {entry for entry in desk.seen if entry <= settled}
                assert not any(desk.can_still_come_below(entry) for entry in final)
            case _:
                came = set(desk.seen)
                desk.end(which, commits=deed == "commit")
                # No entry appears below a final one.
                assert min(desk.seen - came, default=desk.last + 1) > max(final, default=0)
    while desk.working:
        desk.end(0, commits=False)
    assert desk.settled(horizon) >= max(desk.seen, default=0)
