"""On which terms a request is decided: what the rule that it was asked under says, frozen on the request when it was asked.
Only advice changes them then, which can ask for more votes.

Stages come one after another. A stage is met when all of its groups are, or any of them; a group is met when it has as many
votes as it needs. A request without stages needs one vote of anyone who may decide it. The rights of a voter are not part of
the terms: whoever votes must be allowed to decide the request besides (`approvals.access.permissions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """When a decision needs a message to the agent."""

    REJECTION = "rejection"
    ALWAYS = "always"


class OnExpire(StrEnum):
    """What happens at the deadline besides the end of the request: HALT stops the run, which does not go on with a no."""

    HALT = "halt"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Users by id, and the members of teams and roles by the id of their group; anyone who may decide if both are empty."""

    people: tuple[int, ...] = ()
    teams: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(People):
    """How many of these people have to approve."""

    votes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Groups that are joined by *and*, or by *or* if `any`."""

    groups: tuple[Group, ...]
    any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(People):
    """Whom to notify so many seconds after the request was asked, if it still waits."""

    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a request.

    - `veto`: one rejection ends it. Without, a rejection ends it once the approvals that are left cannot be enough.
    - `reminders`: seconds after it was asked, ascending. With `working_hours`, these and those of `escalation` count only the
      working hours of who is notified.
    - `channels`: by which of `mail`, `slack` and `push` people are notified; all if empty.
    """

    stages: tuple[Stage, ...] = ()
    veto: bool = False
    reason: Reason | None = None
    typed_name: bool = False
    fresh_sign_in: bool = False
    on_expire: OnExpire | None = None
    reminders: tuple[int, ...] = ()
    escalation: tuple[Step, ...] = ()
    working_hours: bool = False
    channels: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the stored form, without what is not said."""
        return asdict(self, dict_factory=lambda members: {name: value for name, value in members if value})


#: The terms of a request that no rule said anything about.
NO_TERMS = Terms()


def with_more_votes(terms: Terms, more: int) -> Terms:
    """Return terms that need so many more votes, and are otherwise the same: in the last stage, of its first group.

    Of groups that are joined by *or*, each needs more, because any of them is enough. Without stages, the one vote of anyone
    who may decide becomes several.
    """
    *before, last = terms.stages or (Stage(groups=(Group(),)),)
    raised = len(last.groups) if last.any else 1
    groups = tuple(
        replace(group, votes=group.votes + more) if number < raised else group
        for number, group in enumerate(last.groups)
    )
    return replace(terms, stages=(*before, replace(last, groups=groups)))


def terms_of(document: Mapping[str, Any] | None) -> Terms:
    """Return the terms whose stored form this is; those of no rule if there is none."""
    if not document:
        return NO_TERMS
    read: dict[str, Any] = dict(document)
    read["stages"] = tuple(_stage(stage) for stage in read.get("stages", ()))
    read["escalation"] = tuple(Step(**_people(step)) for step in read.get("escalation", ()))
    for name in ("reminders", "channels"):
        read[name] = tuple(read.get(name, ()))
    read["reason"] = Reason(read["reason"]) if "reason" in read else None
    read["on_expire"] = OnExpire(read["on_expire"]) if "on_expire" in read else None
    return Terms(**read)


def _stage(document: Mapping[str, Any]) -> Stage:
    groups = tuple(Group(**_people(group)) for group in document["groups"])
    return Stage(groups=groups, any=document.get("any", False))


def _people(document: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: tuple(document.get(name, ())) for name in ("people", "teams")}
    return dict(document) | named
