"""Readers of the same thing share reads, and errors reach only the reader they belong to."""

from __future__ import annotations

import asyncio
import threading

import pytest

from approvals.live.batching import BatchCache, BatchReader

SOON = 30


class Reads:
    """A read that waits until it is released, and records its arguments."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[int]]] = []
        self.began, self.let = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, subject: str, questions: list[int]) -> list[int | Exception]:
        self.asked.append((subject, list(questions)))
        self.began.release()
        assert self.let.acquire(timeout=SOON)
        if subject == "broken":
            raise LookupError(subject)
        return [ValueError(f"{question}") if question < 0 else 10 * question for question in questions]


@pytest.fixture
def reads() -> Reads:
    return Reads()


async def all_of(reads: Reads, *questions: asyncio.Future[int], rounds: int) -> list[object]:
    for _ in range(rounds):
        reads.let.release()
    async with asyncio.timeout(SOON):
        return await asyncio.gather(*questions, return_exceptions=True)


async def begun(reads: Reads) -> None:
    assert await asyncio.to_thread(reads.began.acquire, timeout=SOON)


async def test_questions_during_a_read_are_answered_by_the_next_one(reads):
    reader = BatchReader(reads)
    first = asyncio.ensure_future(reader.read("a", 1))
    await begun(reads)
    more = [asyncio.ensure_future(reader.read("a", number)) for number in (2, 3, 2)]
    assert await all_of(reads, first, *more, rounds=2) == [10, 20, 30, 20]
    assert reads.asked == [("a", [1]), ("a", [2, 3, 2])]


async def test_subjects_are_read_independently(reads):
    reader = BatchReader(reads)
    one = asyncio.ensure_future(reader.read("a", 1))
    await begun(reads)
    other = asyncio.ensure_future(reader.read("b", 2))
    await begun(reads)
    assert await all_of(reads, one, other, rounds=2) == [10, 20]


async def test_an_error_reaches_only_its_reader_and_the_next_read_starts_fresh(reads):
    reader = BatchReader(reads)
    first = asyncio.ensure_future(reader.read("a", 1))
    await begun(reads)
    wrong, right = asyncio.ensure_future(reader.read("a", -2)), asyncio.ensure_future(reader.read("a", 3))
    found = await all_of(reads, first, wrong, right, rounds=2)
    assert [repr(one) for one in found] == ["10", "ValueError('-2')", "30"]
    broken = [asyncio.ensure_future(reader.read("broken", number)) for number in (1, 2)]
    assert {type(one) for one in await all_of(reads, *broken, rounds=1)} == {LookupError}
    again = asyncio.ensure_future(reader.read("a", 4))
    assert await all_of(reads, again, rounds=1) == [40]


async def test_a_cancelled_reader_does_not_cancel_the_others(reads):
    reader = BatchReader(reads)
    gone, stays = asyncio.ensure_future(reader.read("a", 1)), asyncio.ensure_future(reader.read("a", 2))
    await begun(reads)
    gone.cancel()
    assert await all_of(reads, stays, rounds=1) == [20]
    assert gone.cancelled()


def test_a_shared_value_is_computed_once():
    shared, made = BatchCache(), []
    for name in ("a", "b", "a"):
        assert shared.once(name, lambda name=name: made.append(name) or name.upper()) == name.upper()
    assert made == ["a", "b"]
