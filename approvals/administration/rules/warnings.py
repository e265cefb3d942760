"""Warnings about rules that are valid, but hardly meant so. Nothing is refused because of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.administration.rules.coverage import covering
from approvals.policy.asks import PLAIN, Asking
from approvals.policy.globs import Glob
from approvals.policy.match import Match
from approvals.policy.rules import Rule, Then
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.policy.votes import Electorate, has_enough_people
from approvals.policy.words import Names, joined_by_and, joined_by_or, time_in_words
from approvals.queries.policy.votes.electorate import electorates_under
from approvals.queries.suggestions import MAX_TOOLS, tool_names
from approvals.text.names import fold
from approvals.text.text import visible
from approvals.text.translation import quoted

#: One person who may decide, where a rule names no groups.
_ONE_VOTE = Terms(stages=(Stage(groups=(VoterGroup(),)),))


def warnings_of(
    rules: Sequence[Rule], names: Names, *, are_live: bool
) -> list[list[str]]:
    """Return the warnings about each of these rules; the number of statements is constant.

    Live rules may be meant for tools to come, so these are named only in a draft.
    """
    known = None if are_live else tool_names(MAX_TOOLS)
    terms = [_terms_of(rule) for rule in rules]
    electorates = electorates_under(terms)
    return [
        [
            *_unreachable(rules, number),
            *_unused(rule.match, known),
            *_undecidable(rule, terms[number], electorates[number], names),
            *_late(rule.ask or PLAIN),
            *_mixing(rule),
        ]
        for number, rule in enumerate(rules)
    ]


def _terms_of(rule: Rule) -> Terms:
    terms = (rule.ask or PLAIN).terms
    return terms if terms.stages else _ONE_VOTE


def _unreachable(rules: Sequence[Rule], number: int) -> Iterator[str]:
    above = covering(rules, number)
    if above is not None:
        yield (
            _("No call reaches this rule: rule %(number)s, %(name)s, takes them.")
            % {"number": above + 1, "name": quoted(visible(rules[above].name))}
        )


def _unused(match: Match, known: Collection[str] | None) -> Iterator[str]:
    """Yield which of the tools no agent has called. With more tools than are read, it is not known."""
    if known is None or len(known) == MAX_TOOLS:
        return
    folded = [fold(name) for name in known]
    unused = [
        visible(tool)
        for tool in match.tools
        if not any(map(Glob(fold(tool)).fits, folded))
    ]
    if unused:
        yield (
            _("No agent has called %(tools)s so far. Check the spelling.")
            % {"tools": joined_by_or(unused)}
        )


def _undecidable(
    rule: Rule, terms: Terms, electorate: Electorate, names: Names
) -> Iterator[str]:
    """Yield which groups have too few people, and whether requests could be approved at all."""
    if rule.then != Then.ASK and rule.ask is None:
        return
    for stage, groups in zip(terms.stages, electorate.stages, strict=True):
        for group, people in zip(stage.groups, groups, strict=True):
            if len(people) < group.votes:
                yield _too_few(group, people, names)
    if has_enough_people(terms, (), electorate, ""):
        return
    deadline = (rule.ask or PLAIN).deadline
    yield (
        _("Not enough people can approve: requests would wait forever.")
        if deadline is None
        else _("Not enough people can approve: requests would wait until the deadline.")
    )


def _too_few(group: VoterGroup, people: Set[int], names: Names) -> str:
    named = visible(joined_by_or(names.of(group)))
    values = {"number": len(people), "names": named, "votes": group.votes}
    if people and named:
        text = _(
            "Only %(number)s of %(names)s may decide requests, but the rule needs %(votes)s."
        )
    elif people:
        text = ngettext(
            "Only %(number)s person may decide requests, but the rule needs %(votes)s.",
            "Only %(number)s people may decide requests, but the rule needs %(votes)s.",
            len(people),
        )
    elif group.teams:
        text = _("No one in %(names)s may decide requests.")
    elif named:
        text = _("%(names)s may not decide requests.")
    else:
        text = _("No one may decide requests.")
    return text % values


def _late(asking: Asking) -> Iterator[str]:
    """Yield which reminders come after the deadline."""
    times = {*asking.terms.reminders, *(step.after for step in asking.terms.escalation)}
    deadline = asking.deadline
    late = [time for time in sorted(times) if deadline and time >= deadline.after]
    if late:
        yield (
            _("The deadline comes first, so no one is reminded after %(times)s.")
            % {"times": joined_by_and([time_in_words(time) for time in late])}
        )


def _mixing(rule: Rule) -> Iterator[str]:
    """Warn of a condition that may fail because CEL does not mix whole and other numbers."""
    if rule.when is not None and rule.when.mixes_numbers:
        yield _(
            "The condition calculates with a value as it is sent: 2 and 2.5 are numbers of different types in CEL, and "
            "calculating with both is an error. Write double(…) around it, and numbers with a point, as in "
            "double(input.amount) * 2.0."
        )
