"""Rules that people's own decisions suggest: calls that were approved unchanged every time.

A suggestion is never applied by itself. It is a rule for the draft of an administrator, with its evidence, and goes through the
replay like any other.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.access.permissions import Person
from approvals.policy.grants import is_shell_like
from approvals.queries.requests import requests_for
from approvals.states import Door, Kind, Priority, Verdict
from approvals.text.secrets import mask_text, masked

#: Days that are looked at, decisions that are read at most, and how often a call must have been approved.
DAYS, MOST, ENOUGH = 60, 20_000, 20
#: Different values of one member that are looked at, and suggestions that are made.
MAX_VALUES, MAX_SUGGESTIONS = 50, 10
#: Members of the inputs that a suggestion can name.
MAX_MEMBERS = 30
#: One address, and no list of addresses in a text.
_ONE = '{0}.endsWith("@%s")' + "".join(
    f' && !{{0}}.contains("{each}")' for each in (",", ";", " ", "\\t", "\\r", "\\n")
)

_GOOD, _BAD = frozenset({Verdict.APPROVE}), frozenset({Verdict.REJECT, Verdict.EDIT})


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule as people write it, and how many of the decisions that it fits were approvals without changes: all of them."""

    tool: str
    rule: Mapping[str, Any]
    approved: int
    #: How many decisions on the tool there were in all.
    total: int
    days: int = DAYS


def suggested_rules(user: Person, taken: Iterable[str] = ()) -> list[Suggestion]:
    """Return the rules that the decisions of the last days suggest, of those that this person may see, the most useful first.

    `taken` are the names of the rules that exist.
    """
    since = timezone.now() - timedelta(days=DAYS)
    decided = requests_for(user).filter(
        created_at__gte=since,
        kind=Kind.APPROVAL,
        decision__by_id__isnull=False,
        decision__grant=None,
        decision__verdict__in=_GOOD | _BAD,
    )
    rows = decided.exclude(priority=Priority.CRITICAL).exclude(tool_name="").exclude(decision__via=Door.RULE)
    by_tool: dict[str, list[tuple[Mapping[str, Any], bool]]] = defaultdict(list)
    secrets: dict[str, set[str]] = defaultdict(set)
    columns = ("tool_name", "input", "decision__verdict", "secrets")
    for tool, value, verdict, secret in (
        rows.order_by("-created_at", "-id").values_list(*columns)[:MOST].iterator(chunk_size=2_000)
    ):
        by_tool[tool].append((value, verdict in _GOOD))
        secrets[tool].update(secret or ())
    names = set(taken)
    suggestions = [
        suggestion
        for tool, cases in by_tool.items()
        if (suggestion := _best(tool, cases, secrets[tool])) is not None and suggestion.rule["name"] not in names
    ]
    return sorted(suggestions, key=lambda each: -each.approved)[:MAX_SUGGESTIONS]


def _best(
    tool: str, cases: Sequence[tuple[Mapping[str, Any], bool]], secrets: Collection[str] = ()
) -> Suggestion | None:
    """Return the rule that fits the most approvals of a tool and nothing else; None if none fits enough of them.

    No rule names a value that is hidden on pages.
    """
    if len(cases) < ENOUGH:
        return None
    rules: list[tuple[int, dict[str, Any]]] = []
    if all(good for _value, good in cases):
        # Any input of a shell is another program.
        rules += [] if is_shell_like(tool) else [(len(cases), {})]
    else:
        rules += [pair for name in _members(cases, secrets) for pair in _of_member(name, cases)]
    enough = [(count, more) for count, more in rules if count >= ENOUGH]
    if not enough:
        return None
    count, more = max(enough, key=lambda pair: pair[0])
    words, when = more.pop("words", ""), more.pop("when", "")
    seen = sorted({member for value, good in cases if good for member in value})
    if not all(member.isidentifier() and len(member) < 50 for member in seen) or len(seen) > MAX_MEMBERS:
        return None
    # A member that no one has seen, such as a blind copy, was never approved.
    known = f"input.all(name, name in [{', '.join(map(json.dumps, seen))}])"
    more["when"] = f"{known} && {when}" if when else known
    rule = {"name": f"{tool}{words}: approved every time"[:100], "match": {"tools": [tool]} | more.pop("match", {})}
    return Suggestion(tool, rule | more | {"then": "allow"}, count, len(cases))


def _members(cases: Sequence[tuple[Mapping[str, Any], bool]], secrets: Collection[str]) -> list[str]:
    """Return the members that every input has, whose names need no escapes, and whose values are no secrets."""
    common = set.intersection(*(set(value) for value, _good in cases))
    plain = (name for name in common if name.isidentifier() and len(name) < 50)
    # What is empty is not masked.
    samples = [{name: next((value[name] for value, _good in cases if value[name]), "")} for name in plain]
    return sorted(name for sample in samples if masked(sample, secrets) is sample for name in sample)


def _of_member(name: str, cases: Sequence[tuple[Mapping[str, Any], bool]]) -> Iterator[tuple[int, dict[str, Any]]]:
    values = [(value[name], good) for value, good in cases]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value, _good in values):
        yield from _up_to(name, values)
    elif all(isinstance(value, str) for value, _good in values):
        yield from _domain(name, [([value], good) for value, good in values], _ONE.format(f"input.{name}"))
        yield from _equal(name, values)
    elif all(
        isinstance(value, list) and value and all(isinstance(item, str) for item in value) for value, _good in values
    ):
        yield from _domain(name, values, f"input.{name}.all(a, {_ONE.format('a')})")


def _up_to(name: str, values: Sequence[tuple[Any, bool]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a largest number below every one that was not approved."""
    refused = min((value for value, good in values if not good), default=None)
    below = [value for value, good in values if good and (refused is None or value < refused)]
    if below:
        match = {"input": [{"pointer": f"/{name}", "at_least": min(below), "at_most": max(below)}]}
        yield len(below), {"match": match, "words": f" up to {max(below)}"}


def _equal(name: str, values: Sequence[tuple[Any, bool]]) -> Iterator[tuple[int, dict[str, Any]]]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for value, good in values:
        if len(value) <= 100 and mask_text(value) is value:
            counts[value][good] += 1
    best = sorted(((yes, value) for value, (no, yes) in counts.items() if not no), reverse=True)[:MAX_VALUES]
    chosen = [value for yes, value in best if yes * len(best) >= ENOUGH] or [value for _yes, value in best[:1]]
    if chosen:
        total = sum(counts[value][1] for value in chosen)
        yield total, {"match": {"input": [{"pointer": f"/{name}", "one_of": chosen}]}, "words": f" by {name}"}


def _domain(name: str, values: Sequence[tuple[Any, bool]], condition: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the domain of mail addresses to which everything was approved."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for addresses, good in values:
        domains = {address.rpartition("@")[2] for address in addresses if "@" in address}
        if len(domains) == 1 and all("@" in address for address in addresses):
            counts[domains.pop()][good] += 1
    for domain, (no, yes) in counts.items():
        if not no and domain.replace(".", "").replace("-", "").isalnum() and len(domain) < 100:
            yield yes, {"when": f"has(input.{name}) && {condition % domain}", "words": f" to @{domain}"}
