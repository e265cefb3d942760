"""Suggest a rule or grant for calls that people approved unchanged every time. Pure.

A suggestion never goes beyond the values it was made from: it matches no decided call that was rejected or changed, no member
that was never seen, no text or number outside the approved ones, and no recipient other than those seen or others in their
domain. Only text for people, such as the body of a mail, may differ. Calls with secret values suggest no rule.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals.db.canonical_json import canonical
from approvals.db.json_pointer import pointer_parts, pointer_to
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.bounds import (
    MAX_DEPTH,
    MAX_TEXT,
    MAX_VALUES,
    bounds_of,
    domains_of,
    shape_of,
)
from approvals.policy.documents import InvalidMatch, match_from
from approvals.policy.grants import GrantCase, audiences, is_shell_like
from approvals.policy.match import Facts
from approvals.policy.rules import MAX_NAME as MAX_RULE_NAME
from approvals.policy.value_types import is_number
from approvals.states import Audience, Width
from approvals.text.secrets import masked

#: Minimum number of approvals.
ENOUGH = 20
#: Maximum number of pointers examined per input.
MAX_POINTERS = 50
#: Maximum number of decisions per tool whose values are compared.
MAX_COMPARED = 5_000
#: Maximum length of a pointer, or a domain, in the name of a rule.
MAX_NAME = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCall:
    """A call that a person decided, with the values that grants compare; `good` if it was approved unchanged."""

    pk: UUID
    value: JsonMapping
    good: bool
    by_id: int
    secrets: Sequence[str] = ()
    agent: str = ""
    scope: str = ""
    requester: int = 0
    fingerprint: str = ""
    has_files: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Approved calls that a rule could match, and the words that describe them."""

    cases: Sequence[DecidedCall]
    words: str = ""


def rule_for(
    tool: str, decided: Sequence[DecidedCall]
) -> tuple[JsonDict, Sequence[DecidedCall]] | None:
    """Return the rule, in its written form, that matches the most approvals of a tool and nothing else, with those approvals.

    None if no rule matches enough of them.
    """
    # A tool name in a rule is a pattern, any other input of a shell is another program, and rules cannot test files.
    if "*" in tool or is_shell_like(tool) or any(each.has_files for each in decided):
        return None
    # The latest decisions, and all that were not approvals.
    compared = [
        *decided[:MAX_COMPARED],
        *(each for each in decided[MAX_COMPARED:] if not each.good),
    ]
    # A value that is secret today may not have been when an earlier request was made.
    secrets = {pointer for each in decided for pointer in each.secrets}
    shown = {each.pk: masked(each.value, secrets) for each in compared}
    refused = [each for each in compared if not each.good]
    candidates = [] if refused else [_Candidate(compared)]
    candidates += _by_value(compared, shown)
    for candidate in sorted(candidates, key=lambda each: -len(each.cases)):
        if (bounded := _bounded(candidate.cases, shown, refused)) is not None:
            conditions, cases = bounded
            rule = {
                "name": _name(tool, f"{candidate.words}: approved every time"),
                "match": {"tools": [tool], "input": conditions},
                "then": "allow",
            }
            return rule, cases
    return None


def grant_for(
    case: GrantCase,
    *,
    requester: int,
    scope: str,
    fingerprints: Collection[str],
    decided: Sequence[DecidedCall],
) -> tuple[Width, Audience, Sequence[DecidedCall]] | None:
    """Return the grant for a request that would have approved only calls that people approved.

    It comes with the decided calls that it would have approved, whose input has one of `fingerprints`; None if there are too few.
    It is for the agent or the key that asks and covers the exact input: a broader one would approve values that were never seen.
    """
    audience = next(
        (each for each in (Audience.AGENT, Audience.KEY) if each in audiences(case)),
        None,
    )
    if audience is None:
        return None
    covered = [
        each
        for each in decided
        if each.requester == requester
        and each.fingerprint in fingerprints
        and (
            each.agent == case.agent
            if audience == Audience.AGENT
            else each.scope == scope
        )
    ]
    if len(covered) < ENOUGH or not all(each.good for each in covered):
        return None
    return Width.INPUT, audience, covered


def _name(tool: str, words: str) -> str:
    """Return the name of a rule, with the tool name shortened to fit."""
    return (
        tool
        if len(tool) + len(words) <= MAX_RULE_NAME
        else tool[: MAX_RULE_NAME - len(words) - 1] + "…"
    ) + words


def _bounded(
    cases: Sequence[DecidedCall],
    shown: Mapping[UUID, Any],
    refused: Sequence[DecidedCall],
) -> tuple[list[JsonDict], Sequence[DecidedCall]] | None:
    """Return conditions that match the similar ones of these cases and nothing else, with those cases.

    None if there are too few, or if no match can express it.
    """
    shapes = Counter(
        shape for each in cases if (shape := shape_of(shown[each.pk])) is not None
    )
    shape, number = next(iter(shapes.most_common(1)), ((), 0))
    if number < ENOUGH:
        return None
    alike = [each for each in cases if shape_of(shown[each.pk]) == shape]
    conditions = bounds_of([shown[each.pk] for each in alike], shape)
    if conditions is None:
        return None
    try:
        match = match_from({"input": conditions})
    except InvalidMatch:
        # There are too many values, or they are too long.
        return None
    if any(match.fits_input(Facts(input=each.value)) for each in refused):
        return None
    return conditions, alike


def _by_value(
    decided: Sequence[DecidedCall], shown: Mapping[UUID, Any]
) -> Iterator[_Candidate]:
    """Yield the candidates for each pointer to a value."""
    held: dict[str, list[tuple[DecidedCall, Any]]] = defaultdict(list)
    for each in decided:
        for pointer, value in _values(shown[each.pk]):
            held[pointer].append((each, value))
    for pointer, pairs in held.items():
        if sum(each.good for each, _value in pairs) < ENOUGH:
            continue
        if all(is_number(value) for _each, value in pairs):
            yield from _up_to(pairs)
        yield from _domains(pairs)
        if all(isinstance(value, str) for _each, value in pairs):
            yield from _equal(pointer, pairs)


def _values(value: JsonMapping) -> Iterator[tuple[str, Any]]:
    """Yield the texts, numbers and lists in an input with their pointers, upper levels first."""
    left = MAX_POINTERS
    below = deque[tuple[tuple[str, ...], JsonMapping]]([((), value)])
    while below:
        path, holder = below.popleft()
        for name, held in holder.items():
            if isinstance(held, dict):
                if len(path) + 1 < MAX_DEPTH:
                    below.append(((*path, name), held))
            elif is_number(held) or isinstance(held, str | list):
                yield pointer_to(*path, name), held
                left -= 1
                if not left:
                    return


def _up_to(pairs: Sequence[tuple[DecidedCall, Any]]) -> Iterator[_Candidate]:
    """Yield the calls with a number below all those that were not approved."""
    refused = min((value for each, value in pairs if not each.good), default=None)
    below = [
        (each, value) for each, value in pairs if refused is None or value < refused
    ]
    if below:
        yield _Candidate(
            [each for each, _value in below],
            f" up to {max(value for _each, value in below)}",
        )


def _equal(
    pointer: str, pairs: Sequence[tuple[DecidedCall, str]]
) -> Iterator[_Candidate]:
    by_value: dict[str, list[DecidedCall]] = defaultdict(list)
    for each, value in pairs:
        if len(canonical(value)) <= MAX_TEXT:
            by_value[value].append(each)
    good = {
        value: cases
        for value, cases in by_value.items()
        if all(each.good for each in cases)
    }
    best = sorted(good, key=lambda value: (-len(good[value]), value))[:MAX_VALUES]
    chosen = [value for value in best if len(good[value]) * len(best) >= ENOUGH]
    if chosen:
        cases = [each for value in chosen for each in good[value]]
        yield _Candidate(cases, f" by {'.'.join(pointer_parts(pointer))[-MAX_NAME:]}")


def _domains(pairs: Sequence[tuple[DecidedCall, Any]]) -> Iterator[_Candidate]:
    """Yield the mail domains for which all calls were approved."""
    by_domain: dict[str, list[DecidedCall]] = defaultdict(list)
    for each, value in pairs:
        domains = domains_of(value)
        if len(domains) == 1:
            by_domain[domains.pop()].append(each)
    for domain, cases in by_domain.items():
        if len(domain) <= MAX_NAME and all(each.good for each in cases):
            yield _Candidate(cases, f" to @{domain}")
