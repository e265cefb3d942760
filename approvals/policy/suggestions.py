"""What people's own decisions suggest: a rule or a grant for calls that were approved unchanged every time. Pure.

A suggestion never fits a decided call that was rejected or changed, and no member of an input that no one has seen: a blind copy
was never approved. Values are looked at by JSON pointer, down to `MAX_DEPTH` levels, and never those that are secret.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from approvals.db.canonical_json import canonical
from approvals.db.json_pointer import pointer_parts, pointer_to
from approvals.policy.expressions import Budget, Expression, InvalidExpression, size_of
from approvals.policy.grants import Case, audiences, fields_of, is_shell_like, widest
from approvals.policy.rules import MAX_NAME as MAX_RULE_NAME
from approvals.states import Audience, Width
from approvals.text.secrets import Hidden, masked

#: How often a call must have been approved.
ENOUGH = 20
#: Levels of an input, pointers of each input, members of each object, and different values of one pointer that are looked at.
MAX_DEPTH, MAX_POINTERS, MAX_MEMBERS, MAX_VALUES = 4, 50, 30, 50
#: Decisions on a tool whose values are compared.
MAX_COMPARED = 5_000
#: Approved calls over which a condition is tried.
MAX_TRIED = 100
#: Characters of a name of a member, and of a value.
MAX_NAME, MAX_TEXT = 50, 100
#: One address, and no list of addresses in a text.
_ONE = '{0}.endsWith("@%s")' + "".join(
    f' && !{{0}}.contains("{each}")' for each in (",", ";", " ", "\\t", "\\r", "\\n")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A call that a person decided, with what a grant would have been compared with; `good` if it was approved as it was."""

    pk: UUID
    value: Mapping[str, Any]
    good: bool
    by_id: int
    secrets: Sequence[str] = ()
    agent: str = ""
    scope: str = ""
    requester: int = 0
    fingerprint: str = ""
    has_files: bool = False


def _with_fields(decided: Sequence[Decided], key_fields: Sequence[str], wanted: bytes) -> list[Decided]:
    """Return the calls with these values of the key fields, in canonical form."""
    held = ((each, fields_of(each.value, key_fields)) for each in decided)
    return [each for each, fields in held if fields is not None and canonical(fields) == wanted]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a rule could say of a tool, and the approved calls that it fits."""

    cases: Sequence[Decided]
    match: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    words: str = ""


def rule_for(tool: str, decided: Sequence[Decided]) -> tuple[dict[str, Any], Sequence[Decided]] | None:
    """Return the rule, as people write it, that fits the most approvals of a tool and nothing else, with those approvals.

    None if no rule fits enough of them.
    """
    # In a rule, the name of a tool is a pattern, and nothing says what files a call may have.
    if len(decided) < ENOUGH or "*" in tool or any(each.has_files for each in decided):
        return None
    if not all(each.good for each in decided):
        # Of many decisions the latest, and whatever was not approved.
        decided = [*decided[:MAX_COMPARED], *(each for each in decided[MAX_COMPARED:] if not each.good)]
        candidates = list(_by_value(decided))
    else:
        # Any input of a shell is another program.
        candidates = [] if is_shell_like(tool) else [_Candidate(decided)]
    best = max(candidates, key=lambda each: len(each.cases), default=None)
    known = _known_members([each.value for each in decided if each.good], "input", 1)
    if best is None or len(best.cases) < ENOUGH or known is None:
        return None
    when = " && ".join(filter(None, (known, best.when)))
    rule = {
        "name": _name(tool, f"{best.words}: approved every time"),
        "match": {"tools": [tool], **best.match},
        "when": when,
        "then": "allow",
    }
    return (rule, best.cases) if _holds(when, best.cases) else None


def grant_for(
    case: Case, *, requester: int, scope: str, fingerprints: Collection[str], decided: Sequence[Decided]
) -> tuple[Width, Audience, Sequence[Decided]] | None:
    """Return the widest grant that could be given with a request and would have approved nothing that people did not approve.

    With the decided calls that it would have approved, of which those of the same input have one of `fingerprints`; None if these
    are too few. It is for the agent that asks, or for the key.
    """
    audience = next((each for each in (Audience.AGENT, Audience.KEY) if each in audiences(case)), None)
    if audience is None:
        return None
    same = [
        each
        for each in decided
        if each.requester == requester
        and (each.agent == case.agent if audience == Audience.AGENT else each.scope == scope)
    ]
    fields = fields_of(case.input, case.key_fields)
    for width in reversed(Width):
        if width > widest(case) or (width == Width.FIELDS and fields is None):
            continue
        if width == Width.INPUT:
            covered = [each for each in same if each.fingerprint in fingerprints]
        else:
            alike = [each for each in same if not each.has_files]
            covered = alike if width == Width.TOOL else _with_fields(alike, case.key_fields, canonical(fields))
        if len(covered) >= ENOUGH and all(each.good for each in covered):
            return width, audience, covered
    return None


def _name(tool: str, words: str) -> str:
    """Return the name of a rule, with as much of the name of the tool as fits."""
    return (tool if len(tool) + len(words) <= MAX_RULE_NAME else tool[: MAX_RULE_NAME - len(words) - 1] + "…") + words


def _holds(when: str, cases: Sequence[Decided]) -> bool:
    """Return whether a condition can be evaluated over what it was made of."""
    try:
        condition = Expression(when)
    except InvalidExpression:
        # Too long, or a member whose name means something else there.
        return False
    return all(
        condition.holds({"input": dict(each.value)}, size_of(each.value), Budget()) for each in cases[:MAX_TRIED]
    )


def _by_value(decided: Sequence[Decided]) -> Iterator[_Candidate]:
    """Yield what each pointer to a value offers."""
    held: dict[str, list[tuple[Decided, Any]]] = defaultdict(list)
    # What is secret today was perhaps none when an earlier request was asked.
    secrets = {pointer for each in decided for pointer in each.secrets}
    for each in decided:
        for pointer, value in _values(masked(each.value, secrets)):
            held[pointer].append((each, value))
    for pointer, pairs in held.items():
        values = [value for _each, value in pairs]
        if sum(each.good for each, _value in pairs) < ENOUGH:
            continue
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            yield from _up_to(pointer, pairs)
        elif all(isinstance(value, str) for value in values):
            yield from _domains(pointer, [(each, [value]) for each, value in pairs], _ONE)
            yield from _equal(pointer, pairs)
        elif all(isinstance(value, list) for value in values):
            yield from _domains(pointer, pairs, f"{{0}}.all(a, {_ONE.format('a')})")


def _values(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the texts, numbers and lists of texts in an input with their pointers, the upper levels first."""
    left, below = MAX_POINTERS, deque[tuple[tuple[str, ...], Mapping[str, Any]]]([((), value)])
    while below and left:
        path, holder = below.popleft()
        for name, held in holder.items():
            if isinstance(held, dict):
                if len(path) + 1 < MAX_DEPTH:
                    below.append(((*path, name), held))
            elif _is_compared(held):
                yield pointer_to(*path, name), held
                left -= 1
                if not left:
                    return


def _is_compared(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) and not isinstance(item, Hidden) for item in value)
    return isinstance(value, str | int | float) and not isinstance(value, bool | Hidden)


def _up_to(pointer: str, pairs: Sequence[tuple[Decided, Any]]) -> Iterator[_Candidate]:
    """Yield a largest number below every one that was not approved."""
    refused = min((value for each, value in pairs if not each.good), default=None)
    below = [(each, value) for each, value in pairs if each.good and (refused is None or value < refused)]
    if below:
        values = [value for _each, value in below]
        match = {"input": [{"pointer": pointer, "at_least": min(values), "at_most": max(values)}]}
        yield _Candidate([each for each, _value in below], match, words=f" up to {max(values)}")


def _equal(pointer: str, pairs: Sequence[tuple[Decided, str]]) -> Iterator[_Candidate]:
    by_value: dict[str, list[Decided]] = defaultdict(list)
    for each, value in pairs:
        if len(value) <= MAX_TEXT:
            by_value[value].append(each)
    good = {value: cases for value, cases in by_value.items() if all(each.good for each in cases)}
    best = sorted(good, key=lambda value: (-len(good[value]), value))[:MAX_VALUES]
    chosen = [value for value in best if len(good[value]) * len(best) >= ENOUGH] or best[:1]
    if chosen:
        cases = [each for value in chosen for each in good[value]]
        match = {"input": [{"pointer": pointer, "one_of": chosen}]}
        yield _Candidate(cases, match, words=f" by {'.'.join(pointer_parts(pointer))[-MAX_NAME:]}")


def _domains(pointer: str, pairs: Sequence[tuple[Decided, Any]], condition: str) -> Iterator[_Candidate]:
    """Yield the domains of mail addresses to which everything was approved."""
    parts = pointer_parts(pointer)
    if not all(map(_is_plain, parts)):
        return
    by_domain: dict[str, list[Decided]] = defaultdict(list)
    for each, addresses in pairs:
        domains = {address.rpartition("@")[2] for address in addresses if "@" in address}
        if len(domains) == 1 and all("@" in address for address in addresses):
            by_domain[domains.pop()].append(each)
    paths = [".".join(("input", *parts[:length])) for length in range(1, len(parts) + 1)]
    there = " && ".join(f"has({path})" for path in paths)
    for domain, cases in by_domain.items():
        known = domain.replace(".", "").replace("-", "").isalnum() and len(domain) < MAX_TEXT
        if known and all(each.good for each in cases):
            when = f"{there} && {condition.format(paths[-1]) % domain}"
            yield _Candidate(cases, when=when, words=f" to @{domain}")


def _known_members(values: Sequence[Any], path: str, depth: int) -> str | None:
    """Return the condition that objects at a path have no members but those that were seen; empty if there are no objects.

    None if that cannot be said: too many, too deep, or not always of one kind.
    """
    there = [value for value in values if value is not None]
    if not any(isinstance(value, dict | list) for value in there):
        return ""
    if depth > MAX_DEPTH:
        return None
    condition = None
    if all(isinstance(value, dict) for value in there):
        condition = _known_of_objects(there, path, depth)
    elif all(isinstance(value, list) for value in there):
        item = f"item{depth}"
        below = _known_members([held for value in there for held in value], item, depth + 1)
        condition = below and f"{path}.all({item}, {below})"
    return f"({path} == null || {condition})" if condition and len(there) < len(values) else condition


def _known_of_objects(values: Sequence[Mapping[str, Any]], path: str, depth: int) -> str | None:
    names = sorted({name for value in values for name in value})
    if len(names) > MAX_MEMBERS or not all(map(_is_plain, names)):
        return None
    conditions = [f"{path}.all(name, name in [{', '.join(map(json.dumps, names))}])"]
    for name in names:
        held = [value[name] for value in values if name in value]
        below = _known_members(held, f"{path}.{name}", depth + 1)
        if below is None:
            return None
        if below:
            conditions.append(below if len(held) == len(values) else f"(!has({path}.{name}) || {below})")
    return " && ".join(conditions)


def _is_plain(name: str) -> bool:
    """Return whether the name of a member needs no escapes in a condition."""
    return name.isidentifier() and name.isascii() and len(name) < MAX_NAME
