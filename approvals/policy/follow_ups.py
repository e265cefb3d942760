"""What the terms of a request say happens while it waits: reminders, and steps of escalation; pure."""

from __future__ import annotations

from dataclasses import dataclass

from approvals.policy.terms import People, Step, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """A reminder, or a step of escalation: how many seconds after the request was asked, and to whom.

    To everyone who was notified of the new request if it names no one.
    """

    after: int
    to: People
    escalates: bool = False

    @property
    def event(self) -> str:
        return "request.escalated" if self.escalates else "request.reminded"


def follow_ups(terms: Terms) -> tuple[Next, ...]:
    """Return the reminders and the steps in the order in which they happen: by time, a reminder before a step."""
    voters = People(
        people=tuple(
            dict.fromkeys(person for stage in terms.stages for group in stage.groups for person in group.people)
        ),
        teams=tuple(dict.fromkeys(team for stage in terms.stages for group in stage.groups for team in group.teams)),
    )
    reminders = [Next(after=after, to=voters) for after in terms.reminders]
    return tuple(
        sorted([*reminders, *map(_escalation, terms.escalation)], key=lambda each: (each.after, each.escalates))
    )


def _escalation(step: Step) -> Next:
    return Next(after=step.after, to=People(people=step.people, teams=step.teams), escalates=True)
