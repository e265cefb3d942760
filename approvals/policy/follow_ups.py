"""Reminders and escalation steps of a request, from its terms; pure."""

from __future__ import annotations

from dataclasses import dataclass

from approvals.policy.terms import FollowUpStep, People, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """A reminder or escalation step: its time in seconds after the request, and its recipients.

    Without recipients, it goes to everyone who was notified of the new request.
    """

    after: int
    to: People
    escalates: bool = False

    @property
    def event(self) -> str:
        return "request.escalated" if self.escalates else "request.reminded"


def follow_ups(terms: Terms) -> tuple[Next, ...]:
    """Return reminders and steps in time order; at equal times, reminders come first."""
    voters = People(
        people=tuple(
            dict.fromkeys(
                person
                for stage in terms.stages
                for group in stage.groups
                for person in group.people
            )
        ),
        teams=tuple(
            dict.fromkeys(
                team
                for stage in terms.stages
                for group in stage.groups
                for team in group.teams
            )
        ),
    )
    reminders = [Next(after=after, to=voters) for after in terms.reminders]
    return tuple(
        sorted(
            [*reminders, *map(_escalation, terms.escalation)],
            key=lambda each: (each.after, each.escalates),
        )
    )


def _escalation(step: FollowUpStep) -> Next:
    return Next(
        after=step.after,
        to=People(people=step.people, teams=step.teams),
        escalates=True,
    )
