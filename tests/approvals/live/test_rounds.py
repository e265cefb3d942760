"""Who wants to know the same is read for together, and nobody's trouble is anybody else's."""

from __future__ import annotations

import asyncio
import threading

import pytest

from approvals.live.batching import Rounds, Shared

SOON = 30


class Looks:
    """A look that waits until it is let through, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[int]]] = []
        self.began, self.let = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, about: str, wishes: list[int]) -> list[int | Exception]:
        self.asked.append((about, list(wishes)))
        self.began.release()
        assert self.let.acquire(timeout=SOON)
        if about == "broken":
            raise LookupError(about)
        return [ValueError(f"{wish}") if wish < 0 else 10 * wish for wish in wishes]


@pytest.fixture
def looks() -> Looks:
    return Looks()


async def all_of(looks: Looks, *wishes: asyncio.Future[int], rounds: int) -> list[object]:
    for _ in range(rounds):
        looks.let.release()
    async with asyncio.timeout(SOON):
        return await asyncio.gather(*wishes, return_exceptions=True)


async def begun(looks: Looks) -> None:
    assert await asyncio.to_thread(looks.began.acquire, timeout=SOON)


async def test_what_is_wished_for_during_a_look_is_the_next_one(looks):
    rounds = Rounds(looks)
    first = asyncio.ensure_future(rounds.read("a", 1))
    await begun(looks)
    more = [asyncio.ensure_future(rounds.read("a", number)) for number in (2, 3, 2)]
    assert await all_of(looks, first, *more, rounds=2) == [10, 20, 30, 20]
    assert looks.asked == [("a", [1]), ("a", [2, 3, 2])]


async def test_something_else_waits_for_no_other_look(looks):
    rounds = Rounds(looks)
    one = asyncio.ensure_future(rounds.read("a", 1))
    await begun(looks)
    other = asyncio.ensure_future(rounds.read("b", 2))
    await begun(looks)
    assert await all_of(looks, one, other, rounds=2) == [10, 20]


async def test_an_error_is_for_whom_it_is_and_the_next_look_is_a_new_one(looks):
    rounds = Rounds(looks)
    first = asyncio.ensure_future(rounds.read("a", 1))
    await begun(looks)
    wrong, right = asyncio.ensure_future(rounds.read("a", -2)), asyncio.ensure_future(rounds.read("a", 3))
    found = await all_of(looks, first, wrong, right, rounds=2)
    assert [repr(one) for one in found] == ["10", "ValueError('-2')", "30"]
    broken = [asyncio.ensure_future(rounds.read("broken", number)) for number in (1, 2)]
    assert {type(one) for one in await all_of(looks, *broken, rounds=1)} == {LookupError}
    again = asyncio.ensure_future(rounds.read("a", 4))
    assert await all_of(looks, again, rounds=1) == [40]


async def test_who_goes_away_takes_nobody_with_them(looks):
    rounds = Rounds(looks)
    gone, stays = asyncio.ensure_future(rounds.read("a", 1)), asyncio.ensure_future(rounds.read("a", 2))
    await begun(looks)
    gone.cancel()
    assert await all_of(looks, stays, rounds=1) == [20]
    assert gone.cancelled()


def test_what_is_shared_is_made_once():
    shared, made = Shared(), []
    for name in ("a", "b", "a"):
        assert shared.once(name, lambda name=name: made.append(name) or name.upper()) == name.upper()
    assert made == ["a", "b"]
