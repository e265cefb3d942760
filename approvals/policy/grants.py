"""The rules of grants: which may be given, and what a request must be for one to approve it. Pure.

A grant says: what (`Width`: this exact input, the same key fields, any input of the tool), for whom (`Audience`), until when
and/or how often. It always binds the user who asked: the name of an agent, and the id of a workflow or a conversation, are what
a client says. The name of the tool is compared in its canonical form.

What a person approved and what runs stay bound by digest. A grant of an input covers it with its files; one of key fields covers
inputs that have the same values there, whatever else they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from approvals.db.json_pointer import ABSENT, value_at
from approvals.policy.globs import Glob
from approvals.policy.rules import Then, Verdict, Why
from approvals.policy.terms import NO_TERMS, Reason, Terms
from approvals.states import Audience, Kind, Priority, Width
from approvals.text.canonical_names import fold
from approvals.text.translatable import Count, Sentence, gettext_noop

#: The limits of every grant, whatever the settings of its tool allow.
LONGEST, MOST_USES, MAX_REASON = timedelta(days=90), 10_000, 1_000
#: Tools that run what they are told, by their canonical names, and those that write files, which something runs later. Any input
#: of such a tool is another program, so only the exact input can be granted, unless the settings of the tool allow more.
SHELL_LIKE = tuple(
    Glob(pattern)
    for pattern in (
        *("*bash*", "*shell*", "*terminal*", "pwsh*", "sh", "zsh", "*__sh", "cmd", "*__cmd", "ssh", "*_ssh", "ssh_*"),
        *("sudo*", "run", "*__run", "*.run", "execute", "*__execute", "*.execute"),
        *("exec", "exec_*", "*_exec", "*_exec_*", "*.exec", "*exec_command*", "*execute_command*", "*execute_code*"),
        *("*subprocess*", "*run_command*", "*run_code*", "*run_script*", "*runcommand*", "*code_interpreter*"),
        *("eval", "eval_*", "*_eval", "*.eval", "*_repl", "node_repl"),
        *("python", "python_*", "*_python", "node", "*__node", "perl", "*__perl", "ruby", "*__ruby", "php", "*__php"),
        *("kubectl*", "*__kubectl*", "docker", "*__docker"),
        *("write", "*__write", "write_file", "*__write_file", "create_file", "*__create_file", "*apply_patch*"),
        *("edit", "*__edit", "multiedit", "notebookedit", "edit_file", "*__edit_file", "str_replace*edit*"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantTerms:
    """What a person grants with an approval. At least one of `until` and `uses` is given."""

    width: Width
    audience: Audience
    until: datetime | None = None
    uses: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the settings of a tool allow at most; None is no limit."""

    seconds: int | None = None
    uses: int | None = None
    width: Width | None = None
    never: bool = False


class Bar(StrEnum):
    """Why no grant approves a call."""

    KIND = "kind"
    CRITICAL = "critical"
    NO_TOOL = "no_tool"
    DENIED = "denied"
    ALLOWED = "allowed"
    FILES = "files"
    UNCERTAIN = "uncertain"
    STOPPED = "stopped"
    PEOPLE = "people"
    #: The giver runs the agent, or may not decide such calls.
    FOUR_EYES = "four_eyes"
    NO_RIGHT = "no_right"


#: What is wrong with a grant that someone wants to give.
PROBLEMS: Mapping[Bar, Sentence] = {
    Bar.KIND: Sentence(
        gettext_noop("is only possible for approvals: a question, form or recovery needs a person"),
    ),
    Bar.CRITICAL: Sentence(gettext_noop("is not possible for a critical request, which a person decides each time")),
    Bar.NO_TOOL: Sentence(gettext_noop("is not possible for a request without a tool")),
    Bar.DENIED: Sentence(gettext_noop("is not possible: the rule “%(rule)s” of the policy denies such calls")),
    Bar.ALLOWED: Sentence(gettext_noop("is not needed: the rule “%(rule)s” of the policy allows such calls")),
    Bar.FILES: Sentence(
        gettext_noop("is not possible: the rule “%(rule)s” of the policy asks people about each call with files")
    ),
    Bar.UNCERTAIN: Sentence(
        gettext_noop(
            "is not possible: it is not certain which rule of the policy matches, so people decide each such call"
        )
    ),
    Bar.STOPPED: Sentence(gettext_noop("is not possible: everything is asked at the moment")),
    Bar.PEOPLE: Sentence(gettext_noop("is not possible: each of these requests needs people who decide it")),
    Bar.FOUR_EYES: Sentence(gettext_noop("is not possible: such calls need four eyes now, and you run the agent")),
    Bar.NO_RIGHT: Sentence(gettext_noop("is not possible: you may not decide such calls as they are asked now")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is known of a request about which a grant is given. `lasting`: its workflow goes on after it.

    `bar` says why no grant would approve such a call now, with the name of the `rule` of the live policy.
    """

    kind: str
    priority: str
    tool: str
    input: Mapping[str, Any]
    key_fields: Sequence[str] = ()
    has_files: bool = False
    agent: str = ""
    by_key: bool = False
    lasting: bool = False
    thread: str = ""
    limits: Limits = field(default_factory=Limits)
    bar: Bar | None = None
    rule: str = ""


def is_shell_like(tool: str) -> bool:
    """Return whether a tool runs what it is told, by its name."""
    name = fold(tool)
    return any(glob.fits(name) for glob in SHELL_LIKE)


def fields_of(value: Mapping[str, Any], pointers: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return the key fields of an input with their values; None if there are none, or if one of them is missing."""
    values = [(pointer, value_at(value, pointer)) for pointer in sorted(set(pointers))]
    if not values or any(held is ABSENT for _pointer, held in values):
        return None
    return [{"pointer": pointer, "value": held} for pointer, held in values]


def bar_of(
    kind: str, priority: str, tool: str, *, verdict: Verdict | None = None, terms: Terms = NO_TERMS
) -> Bar | None:
    """Return why no grant approves a call; None if one can.

    The one answer for a grant that is used, given, offered or listed. `verdict` is what the policy says about the call, None
    where that is not known. `terms` are those of a request that waits.
    """
    if kind != Kind.APPROVAL:
        return Bar.KIND
    if priority == Priority.CRITICAL:
        return Bar.CRITICAL
    if not tool:
        return Bar.NO_TOOL
    bar = None if verdict is None else _bar_of_rule(verdict)
    if bar is None and _names_people(terms):
        return Bar.PEOPLE
    return bar


def _bar_of_rule(verdict: Verdict) -> Bar | None:
    if verdict.then == Then.DENY:
        return Bar.DENIED
    if verdict.then == Then.ALLOW:
        return Bar.ALLOWED
    if verdict.why is not None:
        return _BARS[verdict.why]
    return Bar.PEOPLE if _names_people(verdict.asking.terms) else None


_BARS: Mapping[Why, Bar] = {
    Why.CONDITION: Bar.UNCERTAIN,
    Why.CRITICAL: Bar.CRITICAL,
    Why.FILES: Bar.FILES,
    Why.STOPPED: Bar.STOPPED,
}


def _names_people(terms: Terms) -> bool:
    """Return whether terms say how people decide, which a grant would bypass."""
    return bool(terms.stages or terms.veto or terms.typed_name or terms.fresh_sign_in or terms.reason == Reason.ALWAYS)


def widest(case: Case) -> Width:
    """Return the widest grant that can be given with this request."""
    if case.has_files:
        return Width.INPUT
    return default_width(case.tool) if case.limits.width is None else case.limits.width


def default_width(tool: str) -> Width:
    """Return the widest grant for a tool whose settings choose none."""
    return Width.INPUT if is_shell_like(tool) else Width.TOOL


def audiences(case: Case) -> list[Audience]:
    """Return for whom a grant can be given with this request, the narrowest first."""
    possible = {
        Audience.WORKFLOW: case.lasting,
        Audience.THREAD: bool(case.thread),
        Audience.KEY: case.by_key,
        Audience.AGENT: bool(case.agent),
    }
    return [audience for audience, there in possible.items() if there]


def impossible(case: Case) -> Sentence | None:
    """Return why no grant at all can be given with this request; None if one can."""
    if case.limits.never:
        return Sentence(gettext_noop("is not possible for this tool: its settings say that a person decides each time"))
    return None if case.bar is None else replace(PROBLEMS[case.bar], values={"rule": case.rule})


def problems(terms: GrantTerms, case: Case, now: datetime) -> dict[str, Sentence]:
    """Return what is wrong with the terms of a grant, by their names; empty if it may be given. `now` is the database's time."""
    if problem := impossible(case):
        return {"": problem}
    by_name = {
        "covers": _width_problem(terms, case),
        "audience": _audience_problem(terms, case),
        "until": _time_problem(terms, case.limits, now),
        "uses": _uses_problem(terms, case.limits),
        "reason": Sentence(gettext_noop("is longer than %(limit)s characters"), {"limit": Count(MAX_REASON)})
        if len(terms.reason) > MAX_REASON
        else None,
    }
    return {name: problem for name, problem in by_name.items() if problem}


def _width_problem(terms: GrantTerms, case: Case) -> Sentence | None:
    if terms.width > widest(case):
        if case.has_files:
            return Sentence(
                gettext_noop("must be this exact input: the request has files, which belong to what is approved")
            )
        if case.limits.width is None:
            return Sentence(
                gettext_noop(
                    "must be this exact input: the tool runs what it is told. An administrator can allow more in its settings"
                )
            )
        return Sentence(gettext_noop("is wider than the settings of the tool allow"))
    if terms.width == Width.FIELDS and fields_of(case.input, case.key_fields) is None:
        if not case.key_fields:
            return Sentence(
                gettext_noop("needs key fields, which an administrator can choose in the settings of the tool")
            )
        return Sentence(gettext_noop("is not possible: the input lacks a key field of the tool"))
    return None


def _audience_problem(terms: GrantTerms, case: Case) -> Sentence | None:
    if terms.audience in audiences(case):
        return None
    return {
        Audience.AGENT: Sentence(gettext_noop("is not possible: the request names no agent")),
        Audience.KEY: Sentence(gettext_noop("is not possible: the request was not made with an API key")),
        Audience.WORKFLOW: Sentence(gettext_noop("is not possible: the workflow ends with this request")),
        Audience.THREAD: Sentence(gettext_noop("is not possible: the request names no conversation")),
    }[terms.audience]


def _time_problem(terms: GrantTerms, limits: Limits, now: datetime) -> Sentence | None:
    longest = LONGEST if limits.seconds is None else min(LONGEST, timedelta(seconds=limits.seconds))
    if terms.until is None:
        if limits.seconds is not None:
            values = {"limit": length(longest)}
            return Sentence(gettext_noop("is missing: the settings of the tool allow at most %(limit)s"), values)
        return (
            None
            if terms.uses is not None
            else Sentence(gettext_noop("is missing: enter a time, a number of uses, or both"))
        )
    if terms.until <= now:
        return Sentence(gettext_noop("must be in the future"))
    if terms.until - now > longest:
        values = {"limit": length(longest)}
        if limits.seconds is None:
            return Sentence(gettext_noop("is too far away: a grant lasts at most %(limit)s"), values)
        return Sentence(gettext_noop("is too far away: the settings of the tool allow at most %(limit)s"), values)
    return None


def _uses_problem(terms: GrantTerms, limits: Limits) -> Sentence | None:
    most = MOST_USES if limits.uses is None else min(MOST_USES, limits.uses)
    if terms.uses is None:
        if limits.uses is None:
            return None
        return Sentence(
            gettext_noop("is missing: the settings of the tool allow at most %(limit)s"), {"limit": Count(most)}
        )
    if terms.uses < 1:
        return Sentence(gettext_noop("must be at least 1"))
    if terms.uses > most:
        if limits.uses is None:
            return Sentence(gettext_noop("is too many: a grant has at most %(limit)s"), {"limit": Count(most)})
        return Sentence(
            gettext_noop("is too many: the settings of the tool allow at most %(limit)s"), {"limit": Count(most)}
        )
    return None


#: Units of time in seconds, the largest first, with the words for one and for several.
_UNITS = (
    (86_400, gettext_noop("1 day"), gettext_noop("%(number)s days")),
    (3_600, gettext_noop("1 hour"), gettext_noop("%(number)s hours")),
    (60, gettext_noop("1 minute"), gettext_noop("%(number)s minutes")),
    (1, gettext_noop("1 second"), gettext_noop("%(number)s seconds")),
)


def length(span: timedelta) -> Sentence:
    """Return a length of time for people in the largest unit that it is a whole number of: 90 days, 8 hours, 36 hours."""
    seconds = int(span.total_seconds())
    size, singular, plural = next(unit for unit in _UNITS if seconds % unit[0] == 0)
    number = seconds // size
    return Sentence(singular) if number == 1 else Sentence(plural, {"number": Count(number)})
