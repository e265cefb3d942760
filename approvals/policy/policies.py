"""Read and write the policy: one JSON document, with every fault reported by its path.

In the written form, users, teams and roles have names. The stored form has their ids instead, because a name can change and
later belong to someone else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from approvals.db.canonical_json import NotCanonical, canonical
from approvals.db.json_pointer import is_pointer
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.asks import Asking, AtDeadline, Deadline
from approvals.policy.conditions.expressions import Expression, InvalidExpression
from approvals.policy.documents import InvalidMatch, match_from
from approvals.policy.policy_schema import POLICY_SCHEMA
from approvals.policy.rules import Policy, Rule, Then
from approvals.policy.terms import OnExpire, Terms, terms_of
from approvals.schema.check import schema_errors
from approvals.states import ASKS
from approvals.text.text import INVISIBLE
from approvals.text.translatable import Sentence, TranslatableError, gettext_noop

#: Maximum bytes and values of a policy.
MAX_BYTES = 400_000
MAX_VALUES = 20_000

Faults = dict[str, Sentence]


class InvalidPolicy(TranslatableError, ValueError):
    """The document is not a valid policy. `faults` has a sentence for each wrong member, by its path, such as `rules.0.when`."""

    def __init__(self, faults: Faults) -> None:
        self.faults = dict(sorted(faults.items(), key=lambda fault: _order(fault[0])))
        super().__init__(gettext_noop("The policy is invalid."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The ids of users, teams and roles by name; for teams and roles, the ids of their groups."""

    people: Mapping[str, int] = field(default_factory=dict)
    teams: Mapping[str, int] = field(default_factory=dict)
    roles: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Named:
    """The users, teams and roles in a document: names in the written form, ids in the stored form."""

    people: frozenset[Any]
    teams: frozenset[Any]


def names_in(document: Any) -> Named:
    """Return the usernames and team names in an untrusted document."""
    return _named(document, str)


def ids_in(stored: Any) -> Named:
    """Return the ids of users and groups in a stored policy."""
    return _named(stored, int)


def _named(document: Any, type_: type) -> Named:
    named: dict[str, set[Any]] = {"people": set(), "teams": set(), "roles": set()}
    for _path, owner, kind in _named_lists(document):
        items = owner[kind] if isinstance(owner[kind], list) else []
        named["people" if kind == "requesters" else kind] |= {
            item for item in items if isinstance(item, type_)
        }
    return Named(frozenset(named["people"]), frozenset(named["teams"]))


def stored_form(document: Any, directory: Directory) -> JsonDict:
    """Return the stored form of a written policy. Raise InvalidPolicy."""
    try:
        canonical(document, max_bytes=MAX_BYTES, max_values=MAX_VALUES)
    except NotCanonical as error:
        raise InvalidPolicy({"": Sentence(error.text, error.values)}) from error
    faults: Faults = {
        # The sentences are already translated, and may contain a % in a value.
        path: Sentence("%(message)s", {"message": message})
        for path, message in schema_errors(POLICY_SCHEMA, document, plain=True).items()
    }
    if faults:
        raise InvalidPolicy(faults)
    stored: JsonDict = deepcopy(document)
    for path, owner, kind in list(_named_lists(stored)):
        _to_ids(path, owner, kind, directory, faults)
    _check(stored, faults)
    if faults:
        raise InvalidPolicy(faults)
    return stored


def written_form(stored: JsonMapping, directory: Directory) -> JsonDict:
    """Return the written form of a stored policy. People and groups that no longer exist become `#id`, which is no valid name."""
    names = {
        kind: {pk: name for name, pk in _ids_of(directory)[kind].items()}
        for kind in ("people", "teams", "roles")
    }
    document: JsonDict = deepcopy(dict(stored))
    for _path, owner, kind in list(_named_lists(document)):
        ids = owner.pop(kind)
        if kind in {"requesters", "people"}:
            owner[kind] = [names["people"].get(pk, f"#{pk}") for pk in ids]
            continue
        teams = [
            names["teams"].get(pk, f"#{pk}") for pk in ids if pk not in names["roles"]
        ]
        roles = [names["roles"][pk] for pk in ids if pk in names["roles"]]
        owner |= ({"teams": teams} if teams else {}) | (
            {"roles": roles} if roles else {}
        )
    return document


def policy_of(stored: JsonMapping) -> Policy:
    """Return the policy in a stored document. Raise InvalidMatch, InvalidExpression, KeyError or ValueError if it is invalid."""
    rules = tuple(_rule(document) for document in stored.get("rules", ()))
    flags = {
        name: stored.get(name, False) for name in ("four_eyes", "repeat_rejections")
    }
    return Policy(rules=rules, **flags)


def _ids_of(directory: Directory) -> dict[str, Mapping[str, int]]:
    return {each.name: getattr(directory, each.name) for each in fields(directory)}


def _rule(document: JsonMapping) -> Rule:
    return Rule(
        name=document["name"],
        match=match_from(document.get("match", {})),
        then=Then(document["then"]),
        when=Expression(document["when"]) if "when" in document else None,
        message=document.get("message", ""),
        ask=_asking(document["ask"]) if "ask" in document else None,
    )


#: Members of `ask` that are stored unchanged with a request.
_TERMS = frozenset(each.name for each in fields(Terms))


def _asking(document: JsonMapping) -> Asking:
    terms = {name: value for name, value in document.items() if name in _TERMS}
    deadline = document.get("deadline")
    if deadline is not None and deadline["then"] == AtDeadline.HALT:
        terms["on_expire"] = OnExpire.HALT
    return Asking(
        terms=terms_of(terms),
        with_requester=document.get("with_requester", False),
        deadline=Deadline(after=deadline["after"], then=AtDeadline(deadline["then"]))
        if deadline
        else None,
        priority=document.get("priority", ""),
        key_fields=tuple(document.get("key_fields", ())),
    )


def _named_lists(document: Any) -> Iterator[tuple[str, JsonDict, str]]:
    """Yield each list of names (or ids) in an untrusted document: its path, its parent object, and its key there."""
    for index, rule in enumerate(_list(document, "rules")):
        match = _member(rule, "match")
        ask = _member(rule, "ask")
        if "requesters" in match:
            yield f"rules.{index}.match.requesters", match, "requesters"
        owners: list[tuple[str, Any]] = [
            (f"rules.{index}.ask.stages.{number}.groups.{place}", group)
            for number, stage in enumerate(_list(ask, "stages"))
            for place, group in enumerate(_list(stage, "groups"))
        ]
        owners += [
            (f"rules.{index}.ask.escalation.{place}", step)
            for place, step in enumerate(_list(ask, "escalation"))
        ]
        for path, owner in owners:
            if isinstance(owner, dict):
                yield from (
                    (f"{path}.{kind}", owner, kind)
                    for kind in ("people", "teams", "roles")
                    if kind in owner
                )


def _list(holder: Any, name: str) -> list[Any]:
    items = holder.get(name) if isinstance(holder, dict) else None
    return items if isinstance(items, list) else []


def _member(holder: Any, name: str) -> JsonDict:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


#: The form that `written_form` gives to removed people and groups.
_GONE = re.compile(r"#[0-9]+")

_MISSING: Mapping[str, str] = {
    "people": gettext_noop("there is no active user “%(name)s”"),
    "teams": gettext_noop("there is no team “%(name)s”"),
    "roles": gettext_noop("there is no role “%(name)s”"),
}


def _to_ids(
    path: str, owner: JsonDict, kind: str, directory: Directory, faults: Faults
) -> None:
    """Replace a list of names by ids; roles are added to the teams."""
    names = owner.pop(kind)
    known = "people" if kind == "requesters" else kind
    ids = _ids_of(directory)[known]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        faults[path] = Sentence(gettext_noop("must be a list of usernames"))
        return
    for place, name in enumerate(names):
        if name not in ids or _GONE.fullmatch(name):
            faults[f"{path}.{place}"] = Sentence(_MISSING[known], {"name": name[:100]})
    target = "teams" if kind == "roles" else kind
    # An unknown name keeps its place, so that it is the only fault.
    owner[target] = [*owner.get(target, ()), *(ids.get(name, 0) for name in names)]


def _check(stored: JsonMapping, faults: Faults) -> None:
    names: dict[str, int] = {}
    for index, rule in enumerate(stored.get("rules", ())):
        path = f"rules.{index}"
        name = rule["name"]
        if INVISIBLE.search(name) or name.strip() != name:
            text = gettext_noop(
                "contains an invisible character, or begins or ends with a space"
            )
            faults[f"{path}.name"] = Sentence(text)
        elif name.casefold() in names:
            text = gettext_noop(
                "is also the name of rule %(number)s; each rule needs its own name"
            )
            faults[f"{path}.name"] = Sentence(text, {"number": names[name.casefold()]})
        names.setdefault(name.casefold(), index + 1)
        _try(f"{path}.match", partial(match_from, rule.get("match", {})), faults)
        if "when" in rule:
            _try(f"{path}.when", partial(Expression, rule["when"]), faults)
        _check_ask(f"{path}.ask", rule.get("ask", {}), faults)
        kinds = rule.get("match", {}).get("kinds")
        if (
            isinstance(kinds, list)
            and kinds
            and all(kind in [*ASKS] for kind in kinds)
            and "stages" in rule.get("ask", {})
        ):
            text = gettext_noop(
                "is only possible for approvals and recoveries: one person answers a question or form"
            )
            faults[f"{path}.ask.stages"] = Sentence(text)


def _try(path: str, read: Callable[[], object], faults: Faults) -> None:
    try:
        read()
    except InvalidMatch as error:
        for place, fault in error.faults.items():
            faults.setdefault(f"{path}.{place}".rstrip("."), fault)
    except InvalidExpression as error:
        faults[path] = Sentence(error.text, error.values)


def _check_ask(path: str, ask: JsonMapping, faults: Faults) -> None:
    for name in ("reminders", "escalation"):
        times = [
            item["after"] if isinstance(item, dict) else item
            for item in ask.get(name, ())
        ]
        if times != sorted(set(times)):
            faults[f"{path}.{name}"] = Sentence(
                gettext_noop(
                    "must be in order of time, each later than the previous one"
                )
            )
    for place, step in enumerate(ask.get("escalation", ())):
        if not step.get("people") and not step.get("teams"):
            faults[f"{path}.escalation.{place}"] = Sentence(
                gettext_noop("must name people, teams or roles")
            )
    for number, stage in enumerate(ask.get("stages", ())):
        for place, group in enumerate(stage["groups"]):
            if (
                not group.get("teams")
                and group.get("people")
                and len(group["people"]) < group.get("votes", 1)
            ):
                faults[f"{path}.stages.{number}.groups.{place}.votes"] = Sentence(
                    gettext_noop("must not be more than the number of named people")
                )
    for place, pointer in enumerate(ask.get("key_fields", ())):
        if not is_pointer(pointer):
            faults[f"{path}.key_fields.{place}"] = Sentence(
                gettext_noop("must be a JSON pointer such as /amount")
            )


def _order(path: str) -> list[tuple[int, str]]:
    """Sort paths in document order: the tenth rule after the second."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in path.split(".")
    ]
