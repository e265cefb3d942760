"""How rules ask people, and how several rules' ways of asking are combined. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import TypeVar

from approvals.policy.terms import (
    NO_TERMS,
    FollowUpStep,
    MessageRule,
    OnExpire,
    Stage,
    Terms,
    VoterGroup,
)
from approvals.states import Priority


class AtDeadline(StrEnum):
    """The outcome at the deadline: the request is rejected, its default response becomes the answer, or the run is stopped."""

    REJECT = "reject"
    DEFAULT = "default"
    HALT = "halt"


_T = TypeVar("_T")
#: The outcomes at a deadline, strictest last.
_BY_STRICTNESS = (AtDeadline.DEFAULT, AtDeadline.REJECT, AtDeadline.HALT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    after: int
    then: AtDeadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A rule's way of asking: the terms that are stored with the request, and the settings of the request itself."""

    terms: Terms = NO_TERMS
    with_requester: bool = False
    deadline: Deadline | None = None
    priority: str = ""
    key_fields: tuple[str, ...] = ()

    @property
    def votes(self) -> int:
        """The least number of people who have to approve."""
        stages = [
            [group.votes for group in stage.groups] for stage in self.terms.stages
        ]
        fewest = sum(
            min(votes) if stage.any else sum(votes)
            for stage, votes in zip(self.terms.stages, stages, strict=True)
        )
        return max(1, fewest)


PLAIN = Asking()


def join(askings: Sequence[Asking]) -> Asking:
    """Combine ways of asking (at least one); the result is never weaker than any of them.

    - All stages, keeping each order. Stages of the same people become one stage with the most votes.
    - All switches. The requester may decide only if each of them allows it.
    - The earliest deadline, with the strictest outcome of all.
    - The highest priority, all key fields, and all reminders and steps of escalation. These count working hours only if those of
      all do, and people are notified by every channel that one of them names.
    """
    return reduce(_joined, askings)


def _joined(first: Asking, second: Asking) -> Asking:
    priorities = [Priority(each.priority) for each in (first, second) if each.priority]
    return Asking(
        terms=_joined_terms(first.terms, second.terms),
        with_requester=first.with_requester and second.with_requester,
        deadline=_strictest(
            [each.deadline for each in (first, second) if each.deadline is not None]
        ),
        priority=max(priorities, key=[*Priority].index, default=""),
        key_fields=_once([*first.key_fields, *second.key_fields]),
    )


def _joined_terms(first: Terms, second: Terms) -> Terms:
    both = (first, second)
    reasons = [each.reason for each in both if each.reason is not None]
    timed = [each for each in both if each.reminders or each.escalation]
    return Terms(
        stages=_joined_stages(first.stages, second.stages),
        veto=first.veto or second.veto,
        reason=max(
            reasons, key=[MessageRule.REJECTION, MessageRule.ALWAYS].index, default=None
        ),
        typed_name=first.typed_name or second.typed_name,
        fresh_sign_in=first.fresh_sign_in or second.fresh_sign_in,
        on_expire=OnExpire.HALT
        if OnExpire.HALT in {first.on_expire, second.on_expire}
        else None,
        reminders=tuple(sorted({*first.reminders, *second.reminders})),
        escalation=_joined_steps([*first.escalation, *second.escalation]),
        working_hours=bool(timed) and all(each.working_hours for each in timed),
        # An empty value means all channels.
        channels=_once([*first.channels, *second.channels])
        if first.channels and second.channels
        else (),
    )


def _strictest(deadlines: Sequence[Deadline]) -> Deadline | None:
    if not deadlines:
        return None
    return Deadline(
        after=min(each.after for each in deadlines),
        then=max((each.then for each in deadlines), key=_BY_STRICTNESS.index),
    )


def _joined_stages(
    first: Sequence[Stage], second: Sequence[Stage]
) -> tuple[Stage, ...]:
    """Return the stages of both, keeping each order: a later stage reviews what the earlier one approved."""
    stages = list(first)
    place = 0
    for stage in second:
        same = next(
            (
                at
                for at in range(place, len(stages))
                if _is_of_same_people(stages[at], stage)
            ),
            None,
        )
        if same is None:
            stages.insert(place, stage)
            place += 1
            continue
        stages[same] = _with_most_votes(stages[same], stage)
        place = same + 1
    return tuple(stages)


def _is_of_same_people(first: Stage, second: Stage) -> bool:
    return first.any == second.any and [*map(_people, _in_order(first))] == [
        *map(_people, _in_order(second))
    ]


def _with_most_votes(first: Stage, second: Stage) -> Stage:
    """Merge two stages of the same people; each group needs the larger number of votes."""
    pairs = zip(_in_order(first), _in_order(second), strict=True)
    return replace(
        first,
        groups=tuple(
            replace(group, votes=max(group.votes, same.votes)) for group, same in pairs
        ),
    )


def _in_order(stage: Stage) -> list[VoterGroup]:
    return sorted(stage.groups, key=lambda group: (_people(group), group.votes))


def _people(group: VoterGroup) -> tuple[list[int], list[int]]:
    return sorted(set(group.people)), sorted(set(group.teams))


def _joined_steps(steps: Sequence[FollowUpStep]) -> tuple[FollowUpStep, ...]:
    """Return steps of escalation in order; steps at the same time become one that notifies all of their people."""
    by_time: dict[int, list[FollowUpStep]] = {}
    for step in steps:
        by_time.setdefault(step.after, []).append(step)
    return tuple(
        FollowUpStep(
            after=after,
            people=_once(person for step in same for person in step.people),
            teams=_once(team for step in same for team in step.teams),
        )
        for after, same in sorted(by_time.items())
    )


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))
