"""The stages of votes for display: how far each group is, and who is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group as Team
from django.contrib.auth.models import User
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.db.many import any_of
from approvals.policy.terms import Terms, VoterGroup
from approvals.policy.votes import Tally
from approvals.text.text import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter:
    """A voter as recorded, with their display name of today, and the comment of their vote, without secrets."""

    username: str
    display_name: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """The seats of a group and who has approved in them; `who` names its people, empty for anyone who may decide."""

    who: str
    votes: int
    needed: int
    voters: Sequence[Voter]

    @property
    def missing(self) -> bool:
        return self.votes < self.needed

    @property
    def words(self) -> str:
        return _("%(votes)d of %(needed)d") % {
            "votes": self.votes,
            "needed": self.needed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    """A stage with its groups, joined by *or* if `any`; `current` is the one that takes votes."""

    groups: Sequence[GroupProgress]
    any: bool
    met: bool
    current: bool

    @property
    def who(self) -> str:
        """The people still needed, in words; empty for anyone who may decide."""
        missing = [group.who for group in self.groups if group.missing]
        if not all(missing):
            return ""
        return (_(" or ") if self.any else _(" and ")).join(missing)

    @property
    def count(self) -> str:
        """The approvals so far and those needed; with *or*, of the group that is nearest to its own."""
        return _("%(votes)d of %(needed)d") % self._approvals

    @property
    def approvals(self) -> str:
        """The same where nothing else says what is counted: “1 of 2 approvals”."""
        text = ngettext(
            "%(votes)d of %(needed)d approval",
            "%(votes)d of %(needed)d approvals",
            self._approvals["needed"],
        )
        return text % self._approvals

    @property
    def _approvals(self) -> dict[str, int]:
        groups = self.groups
        if self.any:
            groups = [min(groups, key=lambda group: group.needed - group.votes)]
        return {
            "votes": sum(group.votes for group in groups),
            "needed": sum(group.needed for group in groups),
        }

    @property
    def words(self) -> str:
        """The progress: “1 of 2, finance missing”."""
        if self.any and len(self.groups) > 1:
            return _(" or ").join(
                f"{group.who} {group.words}".strip() for group in self.groups
            )
        if not self.who:
            return self.count
        return _("%(count)s, %(who)s missing") % {"count": self.count, "who": self.who}


def stages_of(
    terms: Terms,
    tally: Tally,
    names: Mapping[Any, str],
    voters: Mapping[int, Voter] | None = None,
) -> list[StageProgress]:
    """Return the progress of each stage; with its people, if `voters` has those of the counted votes, by seat."""
    return [
        StageProgress(
            groups=[
                GroupProgress(
                    who=who_in(group, names),
                    votes=len(seats),
                    needed=group.votes,
                    voters=[voters[seat] for seat in sorted(seats)] if voters else (),
                )
                for group, seats in zip(stage.groups, tally.places[number], strict=True)
            ],
            any=stage.any,
            met=tally.current is None or number < tally.current,
            current=number == tally.current,
        )
        for number, stage in enumerate(terms.stages)
    ]


def who_in(group: VoterGroup, names: Mapping[Any, str]) -> str:
    """Return the people of a group in words; empty for anyone who may decide."""
    members = [
        *(("team", pk) for pk in group.teams),
        *(("person", pk) for pk in group.people),
    ]
    return _(" or ").join(
        names.get(member) or _("someone removed") for member in members
    )


def names_for(terms: Terms) -> dict[Any, str]:
    return names_in([terms])


def names_in(terms: Iterable[Terms], others: Iterable[int] = ()) -> dict[Any, str]:
    """Return the names of the people and teams in terms, and of other people, by kind and id."""
    groups = [
        group for each in terms for stage in each.stages for group in stage.groups
    ]
    teams, people = (
        {pk for group in groups for pk in getattr(group, kind)}
        for kind in ("teams", "people")
    )
    people |= {*others}
    names: dict[Any, str] = {}
    if teams:
        named = Team.objects.filter(pk__in=any_of(teams, int)).values_list("pk", "name")
        names |= {("team", pk): visible(name) for pk, name in named}
    if people:
        users = User.objects.filter(pk__in=any_of(people, int)).values_list(
            "pk", "username"
        )
        names |= {("person", pk): visible(name) for pk, name in users}
    return names


def not_needed(current: StageProgress | None) -> str:
    """Return the refusal of a vote that this stage does not want; None if all are met."""
    who = "" if current is None else current.who
    if who:
        return _(
            "Your vote is not needed now. This request is waiting for %(who)s."
        ) % {"who": who}
    return _(
        "Your vote is not needed now. This request is waiting for others who may decide it."
    )
