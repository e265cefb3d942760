"""Find rules that no call reaches, because one rule above them matches everything that they match. Pure.

A rule that is not named here may still be unreachable: only plain cases are recognized.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from approvals.db.canonical_json import same_json
from approvals.policy.input_conditions import (
    Between,
    InputCondition,
    Like,
    OneOf,
    StartsWith,
    Test,
    Typed,
)
from approvals.policy.rules import Rule, Then
from approvals.policy.value_types import ValueType
from approvals.states import Kind


def covering(rules: Sequence[Rule], number: int) -> int | None:
    """Return the number of the first rule above this one that takes all of its calls; None if there is none."""
    rule = rules[number]
    return next(
        (above for above, other in enumerate(rules[:number]) if _covers(other, rule)),
        None,
    )


def _covers(first: Rule, second: Rule) -> bool:
    """Return whether the first rule matches every call that the second one matches."""
    if first.when is not None and (
        second.when is None or first.when.text != second.when.text
    ):
        return False
    return (
        _kinds_of_calls(second) <= _kinds(first)
        and first.match.covers_lists(second.match)
        and all(
            any(_implies_condition(narrow, wide) for narrow in second.match.conditions)
            for wide in first.match.conditions
        )
    )


def _kinds(rule: Rule) -> set[str]:
    """Return the kinds of requests that a rule matches: only approvals can be allowed or denied."""
    is_general = rule.then == Then.ASK
    return set(rule.match.kinds or Kind.values) if is_general else {Kind.APPROVAL}


def _kinds_of_calls(rule: Rule) -> set[str]:
    """Return the kinds that a rule is meant for: a rule about tools is about their calls, unless it names kinds."""
    is_about_calls = rule.match.tools and not rule.match.kinds
    return {Kind.APPROVAL} if is_about_calls else _kinds(rule)


def _implies_condition(narrow: InputCondition, wide: InputCondition) -> bool:
    return narrow.pointer == wide.pointer and _implies(narrow.test, wide.test)


def _implies(narrow: Test, wide: Test) -> bool:
    """Return whether every value that passes the narrow test passes the wide one."""
    if same_json(narrow.document(), wide.document()):
        return True
    ends = _ends(narrow)
    other_ends = _ends(wide)
    if ends is not None and other_ends is not None:
        return other_ends[0] <= ends[0] and ends[1] <= other_ends[1]
    match narrow, wide:
        case Typed(kind=kind), Typed(kind=other, test=None):
            return kind == other
        case Typed(kind=kind, test=inner), Typed(kind=other, test=test):
            if inner is None or test is None or kind != other:
                return False
            return _implies(inner, test)
        case OneOf(values=values), _:
            return all(map(wide.fits, values))
        case StartsWith(text=text), StartsWith(text=beginning):
            return text.startswith(beginning)
        case Like(glob=glob), Like(glob=wider):
            # A star is matched only by a star, so the wider pattern matches all that the other one does.
            return wider.fits(glob.text)
    return False


def _ends(test: Test) -> tuple[float, float] | None:
    """Return the ends of the range of numbers that pass a test; None for other tests."""
    match test:
        case Typed(kind=ValueType.AMOUNT, test=None):
            return 0, math.inf
        case Typed(kind=ValueType.AMOUNT, test=Between() as between):
            least, most = _ends(between) or (0, 0)
            return max(0, least), most
        case Between(more_than=float() | int() as limit):
            return math.nextafter(limit, math.inf), math.inf
        case Between(less_than=float() | int() as limit):
            least = 0 if limit > 0 else -math.inf
            return least, math.nextafter(limit, -math.inf)
        case Between(at_least=None, at_most=float() | int() as most):
            # Below zero, `at_most` alone does not match negative numbers.
            return 0 if most >= 0 else -math.inf, most
        case Between(at_least=float() | int() as least, at_most=most):
            return least, math.inf if most is None else most
    return None
