"""The terms on which a request is decided, taken from its rule and frozen on the request when it is made. Only advice can change
them later, by asking for more votes.

Stages come one after another. A stage is met when all of its groups are, or any one of them if joined by *or*; a group is met
when it has enough votes. A request without stages needs one vote of anyone who may decide it. Terms do not include voters'
rights: voters must also be allowed to decide the request (`approvals.access.permissions`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from approvals.json_types import JsonDict, JsonMapping


class MessageRule(StrEnum):
    """When a decision needs a message to the agent."""

    REJECTION = "rejection"
    ALWAYS = "always"


class OnExpire(StrEnum):
    """The effect of the deadline besides the end of the request: HALT stops the run instead of continuing with a rejection."""

    HALT = "halt"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Users by id, and members of teams and roles by group id; both empty means anyone who may decide."""

    people: tuple[int, ...] = ()
    teams: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterGroup(People):
    """People, and how many of them have to approve."""

    votes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Groups joined by *and*, or by *or* if `any`."""

    groups: tuple[VoterGroup, ...]
    any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpStep(People):
    """People to notify this many seconds after the request was made, if it is still waiting."""

    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a request.

    - `veto`: one rejection ends it. Without it, a rejection ends it once the possible approvals are not enough.
    - `reminders`: seconds after the request, ascending. With `working_hours`, these and those of `escalation` count only the
      recipients' working hours.
    - `channels`: which of `mail`, `slack`, `teams`, `push` and `relay` to use; empty for all.
    """

    stages: tuple[Stage, ...] = ()
    veto: bool = False
    reason: MessageRule | None = None
    typed_name: bool = False
    fresh_sign_in: bool = False
    on_expire: OnExpire | None = None
    reminders: tuple[int, ...] = ()
    escalation: tuple[FollowUpStep, ...] = ()
    working_hours: bool = False
    channels: tuple[str, ...] = ()

    def document(self) -> JsonDict:
        """Return the stored form, without empty members."""
        return asdict(
            self,
            dict_factory=lambda members: {
                name: value for name, value in members if value
            },
        )


#: The terms of a request without a matching rule.
NO_TERMS = Terms()


def with_more_votes(terms: Terms, more: int) -> Terms:
    """Return the same terms with `more` votes, added to the first group of the last stage.

    Groups joined by *or* each need more, because any of them is enough. Without stages, the single vote becomes several.
    """
    *before, last = terms.stages or (Stage(groups=(VoterGroup(),)),)
    raised = len(last.groups) if last.any else 1
    groups = tuple(
        replace(group, votes=group.votes + more) if number < raised else group
        for number, group in enumerate(last.groups)
    )
    return replace(terms, stages=(*before, replace(last, groups=groups)))


def terms_of(document: JsonMapping | None) -> Terms:
    """Return the terms in this stored form; the defaults if there is none."""
    if not document:
        return NO_TERMS
    read: JsonDict = dict(document)
    read["stages"] = tuple(_stage(stage) for stage in read.get("stages", ()))
    read["escalation"] = tuple(
        FollowUpStep(**_people(step)) for step in read.get("escalation", ())
    )
    for name in ("reminders", "channels"):
        read[name] = tuple(read.get(name, ()))
    read["reason"] = MessageRule(read["reason"]) if "reason" in read else None
    read["on_expire"] = OnExpire(read["on_expire"]) if "on_expire" in read else None
    return Terms(**read)


def _stage(document: JsonMapping) -> Stage:
    groups = tuple(VoterGroup(**_people(group)) for group in document["groups"])
    return Stage(groups=groups, any=document.get("any", False))


def _people(document: JsonMapping) -> JsonDict:
    named = {name: tuple(document.get(name, ())) for name in ("people", "teams")}
    return dict(document) | named
