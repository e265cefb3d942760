"""The rules of grants: which may be given, and which requests they approve. Pure.

A grant has a `Width` (this exact input, the same key fields, or any input of the tool), an `Audience`, and an end in time
and/or number of uses. It is always bound to the user who asked, because the agent's name and the ids of workflows and
conversations are client input. Tool names are compared in canonical form.

The approved input and the executed one stay bound by digest. A grant of an input covers it with its files; a grant of key
fields covers inputs with the same values there, whatever else they contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from approvals.db.json_pointer import ABSENT, value_at
from approvals.json_types import JsonDict, JsonMapping
from approvals.policy.globs import Glob
from approvals.policy.grant_bars import PROBLEMS, Bar
from approvals.states import Audience, Width
from approvals.text.names import fold
from approvals.text.translatable import Count, Sentence, gettext_noop

#: Limits of every grant, regardless of the tool's settings.
LONGEST = timedelta(days=90)
MOST_USES = 10_000
MAX_REASON = 1_000
#: Tools that run their input, by canonical name, and those that write files, which may be run later. Any input of such a tool is
#: another program, so only the exact input can be granted, unless the settings of the tool allow more.
SHELL_PATTERNS = """
    *bash* *shell* *terminal* pwsh* sh zsh *__sh cmd *__cmd ssh *_ssh ssh_* sudo*
    run *__run *.run execute *__execute *.execute
    exec exec_* *_exec *_exec_* *.exec *exec_command* *execute_command* *execute_code*
    *subprocess* *run_command* *run_code* *run_script* *runcommand* *code_interpreter*
    eval eval_* *_eval *.eval *_repl node_repl
    python python_* *_python node *__node perl *__perl ruby *__ruby php *__php
    kubectl* *__kubectl* docker *__docker
    write *__write write_file *__write_file create_file *__create_file *apply_patch*
    edit *__edit multiedit notebookedit edit_file *__edit_file str_replace*edit*
"""
SHELL_LIKE = tuple(map(Glob, SHELL_PATTERNS.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantTerms:
    """The terms of a grant given with an approval. At least one of `until` and `uses` is set."""

    width: Width
    audience: Audience
    until: datetime | None = None
    uses: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantLimits:
    """The limits in a tool's settings; None means no limit."""

    seconds: int | None = None
    uses: int | None = None
    width: Width | None = None
    never: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantCase:
    """A request for which a grant is considered. `lasting`: its workflow continues after it.

    `bar` is why no grant would approve such a call now, with the name of the `rule` in the live policy.
    """

    kind: str
    priority: str
    tool: str
    input: JsonMapping
    key_fields: Sequence[str] = ()
    has_files: bool = False
    agent: str = ""
    by_key: bool = False
    lasting: bool = False
    thread: str = ""
    limits: GrantLimits = field(default_factory=GrantLimits)
    bar: Bar | None = None
    rule: str = ""


def is_shell_like(tool: str) -> bool:
    """Return whether a tool runs its input as code, judging by its name."""
    name = fold(tool)
    return any(glob.fits(name) for glob in SHELL_LIKE)


def fields_of(value: JsonMapping, pointers: Sequence[str]) -> list[JsonDict] | None:
    """Return the key fields of an input with their values; None if there are no key fields, or if one is missing."""
    values = [(pointer, value_at(value, pointer)) for pointer in sorted(set(pointers))]
    if not values or any(held is ABSENT for _pointer, held in values):
        return None
    return [{"pointer": pointer, "value": held} for pointer, held in values]


def widest(case: GrantCase) -> Width:
    """Return the broadest grant allowed for this request."""
    if case.has_files:
        return Width.INPUT
    return default_width(case.tool) if case.limits.width is None else case.limits.width


def default_width(tool: str) -> Width:
    """Return the broadest grant allowed for a tool whose settings choose none."""
    return Width.INPUT if is_shell_like(tool) else Width.TOOL


def audiences(case: GrantCase) -> list[Audience]:
    """Return the possible audiences of a grant for this request, narrowest first."""
    possible = {
        Audience.WORKFLOW: case.lasting,
        Audience.THREAD: bool(case.thread),
        Audience.KEY: case.by_key,
        Audience.AGENT: bool(case.agent),
    }
    return [audience for audience, there in possible.items() if there]


def impossible(case: GrantCase) -> Sentence | None:
    """Return why no grant can be given for this request; None if one can."""
    if case.limits.never:
        return Sentence(
            gettext_noop(
                "is not possible for this tool: its settings say that a person decides each time"
            )
        )
    return (
        None
        if case.bar is None
        else replace(PROBLEMS[case.bar], values={"rule": case.rule})
    )


def problems(terms: GrantTerms, case: GrantCase, now: datetime) -> dict[str, Sentence]:
    """Return the problems with a grant's terms, by field; empty if it may be given. `now` is the database's time."""
    if problem := impossible(case):
        return {"": problem}
    by_name = {
        "covers": _width_problem(terms, case),
        "audience": _audience_problem(terms, case),
        "until": _time_problem(terms, case.limits, now),
        "uses": _uses_problem(terms, case.limits),
        "reason": Sentence(
            gettext_noop("is longer than %(limit)s characters"),
            {"limit": Count(MAX_REASON)},
        )
        if len(terms.reason) > MAX_REASON
        else None,
    }
    return {name: problem for name, problem in by_name.items() if problem}


def _width_problem(terms: GrantTerms, case: GrantCase) -> Sentence | None:
    if terms.width > widest(case):
        if case.has_files:
            return Sentence(
                gettext_noop(
                    "must be this exact input: the request has files, which are part of the approval"
                )
            )
        if case.limits.width is None:
            return Sentence(
                gettext_noop(
                    "must be this exact input: the tool runs commands or changes files. An administrator can "
                    "allow more in its settings"
                )
            )
        return Sentence(gettext_noop("is broader than the settings of the tool allow"))
    if terms.width == Width.FIELDS and fields_of(case.input, case.key_fields) is None:
        if not case.key_fields:
            return Sentence(
                gettext_noop(
                    "needs key fields, which an administrator can choose in the settings of the tool"
                )
            )
        return Sentence(
            gettext_noop("is not possible: the input lacks a key field of the tool")
        )
    return None


def _audience_problem(terms: GrantTerms, case: GrantCase) -> Sentence | None:
    if terms.audience in audiences(case):
        return None
    return {
        Audience.AGENT: Sentence(
            gettext_noop("is not possible: the request names no agent")
        ),
        Audience.KEY: Sentence(
            gettext_noop("is not possible: the request was not made with an API key")
        ),
        Audience.WORKFLOW: Sentence(
            gettext_noop("is not possible: the workflow ends with this request")
        ),
        Audience.THREAD: Sentence(
            gettext_noop("is not possible: the request names no conversation")
        ),
    }[terms.audience]


def _time_problem(
    terms: GrantTerms, limits: GrantLimits, now: datetime
) -> Sentence | None:
    longest = (
        LONGEST
        if limits.seconds is None
        else min(LONGEST, timedelta(seconds=limits.seconds))
    )
    if terms.until is None:
        if limits.seconds is not None:
            values = {"limit": length(longest)}
            return Sentence(
                gettext_noop(
                    "is missing: the settings of the tool allow at most %(limit)s"
                ),
                values,
            )
        return (
            None
            if terms.uses is not None
            else Sentence(
                gettext_noop("is missing: enter a time, a number of uses, or both")
            )
        )
    if terms.until <= now:
        return Sentence(gettext_noop("must be in the future"))
    if terms.until - now > longest:
        values = {"limit": length(longest)}
        if limits.seconds is None:
            return Sentence(
                gettext_noop("is too far away: a grant lasts at most %(limit)s"), values
            )
        return Sentence(
            gettext_noop(
                "is too far away: the settings of the tool allow at most %(limit)s"
            ),
            values,
        )
    return None


def _uses_problem(terms: GrantTerms, limits: GrantLimits) -> Sentence | None:
    most = MOST_USES if limits.uses is None else min(MOST_USES, limits.uses)
    if terms.uses is None:
        if limits.uses is None:
            return None
        return Sentence(
            gettext_noop(
                "is missing: the settings of the tool allow at most %(limit)s"
            ),
            {"limit": Count(most)},
        )
    if terms.uses < 1:
        return Sentence(gettext_noop("must be at least 1"))
    if terms.uses > most:
        if limits.uses is None:
            return Sentence(
                gettext_noop("is too many: a grant has at most %(limit)s"),
                {"limit": Count(most)},
            )
        return Sentence(
            gettext_noop(
                "is too many: the settings of the tool allow at most %(limit)s"
            ),
            {"limit": Count(most)},
        )
    return None


#: Units of time in seconds, largest first, with their singular and plural.
_UNITS = (
    (86_400, gettext_noop("1 day"), gettext_noop("%(number)s days")),
    (3_600, gettext_noop("1 hour"), gettext_noop("%(number)s hours")),
    (60, gettext_noop("1 minute"), gettext_noop("%(number)s minutes")),
    (1, gettext_noop("1 second"), gettext_noop("%(number)s seconds")),
)


def length(span: timedelta) -> Sentence:
    """Return a duration in the largest unit that divides it: 90 days, 8 hours, 36 hours."""
    seconds = int(span.total_seconds())
    size, singular, plural = next(unit for unit in _UNITS if seconds % unit[0] == 0)
    number = seconds // size
    return (
        Sentence(singular)
        if number == 1
        else Sentence(plural, {"number": Count(number)})
    )
