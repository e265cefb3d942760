"""Compare the price of each operator of a condition with its work, when what it reads doubles.

    .venv/bin/python -m benchmarks.condition_costs [--rounds 15]

A condition is refused before it runs if its price is beyond the budget of a request (`approvals.policy.conditions.cost`). That
holds only if the price grows at least as fast as the work, and a step is two nanoseconds or less. Each line is one operator over
inputs of one size and of twice that: how many times the work and the price are larger, and the nanoseconds of a step. Work is
the processor time of the fastest round, without that of reading the input. The sizes are small enough for every operator to end
within a few milliseconds; what is too small to be told from the noise has no ratio.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from time import thread_time
from typing import Any

from approvals.policy.conditions.cost import size_of
from approvals.policy.conditions.expressions import MAX_STEPS, Expression, StepBudget

Input = Mapping[str, Any]
#: Work below this is noise.
NOISE = 20e-6


def text(size: int) -> Input:
    return {"t": "a" * size * 200, "u": "a" * size * 200 + "b"}


def search(size: int) -> Input:
    """Two texts of which each place of the first is compared with much of the second."""
    return {"t": "a" * size * 8, "u": "a" * size * 4 + "b"}


def items(size: int) -> Input:
    return {"l": [f"item {number}" for number in range(size * 4)]}


def members(size: int) -> Input:
    return {"m": {f"name {number}": number for number in range(size * 4)}}


OPERATORS: list[tuple[str, str, Callable[[int], Input]]] = [
    ("contains", "input.t.contains(input.u)", search),
    ("contains, a text of the rule", 'input.t.contains("b")', text),
    ("startsWith", "input.u.startsWith(input.t)", text),
    ("endsWith", "input.t.endsWith(input.t)", text),
    ("== of texts", "input.t == input.u", text),
    ("== with a text of the rule", 'input.t == "none"', text),
    ("!= of lists", "input.l != input.l", items),
    ("== of objects", "input.m == input.m", members),
    ("in a list", '"none" in input.l', items),
    ("in names", '"none" in keys(input.m)', members),
    ("< of texts", "input.t < input.u", text),
    ("+ of texts", "size(input.t + input.u) > 0", text),
    ("+ of lists", "size(input.l + input.l) > 0", items),
    ("size of a text", "size(input.t) > 0", text),
    ("size of a list", "size(input.l) > 0", items),
    ("[] of a list", 'input.l[0] != ""', items),
    ("[] of an object", 'input.m["name 0"] == 0', members),
    ("bytes", "size(bytes(input.t)) > 0", text),
    ("all", 'input.l.all(each, each.startsWith("item"))', items),
    ("all, with a search", 'input.l.all(each, !each.contains("none"))', items),
    ("exists over names", 'keys(input.m).exists(each, each == "none")', members),
    (
        "loops within one another",
        "input.l.all(one, size(input.l) > 0 && [1, 2].all(two, two > 0))",
        items,
    ),
]


def seconds(expression: Expression, value: Input, rounds: int) -> float:
    times = []
    for _round in range(rounds):
        begun = thread_time()
        expression.holds({"input": dict(value)}, size_of(value), StepBudget())
        times.append(thread_time() - begun)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    reading = Expression("size(input) > 0")
    print(f"{'operator':30} {'work':>6} {'price':>6} {'ns a step':>10}")
    for name, condition, make in OPERATORS:
        expression = Expression(condition)
        works, prices = [], []
        for size in (512, 1024):
            value = make(size)
            price = expression.cost(size_of(value))
            assert price <= MAX_STEPS, "The condition would not run."
            works.append(
                seconds(expression, value, rounds) - seconds(reading, value, rounds)
            )
            prices.append(price)
        work = f"{works[1] / works[0]:6.2f}" if min(works) > NOISE else f"{'-':>6}"
        print(
            f"{name:30} {work} {prices[1] / prices[0]:6.2f} {max(works) / prices[1] * 1e9:10.2f}"
        )


if __name__ == "__main__":
    main()
