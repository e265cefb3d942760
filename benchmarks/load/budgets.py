"""Upper bounds of costs that are counted, such as statements: fewer are welcome, and lower the budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Name = TypeVar("Name")


def over(budget: Mapping[Name, int], costs: Mapping[Name, int]) -> dict[Name, str]:
    """Return each cost that is above its budget. Both have the same names."""
    assert costs.keys() == budget.keys(), (costs, budget)
    return {
        name: f"{cost} of {budget[name]}"
        for name, cost in costs.items()
        if cost > budget[name]
    }
