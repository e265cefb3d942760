"""The policy in words, and what a draft of it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _

from approvals.administration.scopes.queries import requests_in_words
from approvals.db.many import any_of
from approvals.models import PolicyVersion
from approvals.policy.grants import length
from approvals.policy.policies import InvalidPolicy, ids_in, policy_of, stored_form
from approvals.policy.policy_text import line_of, read_text
from approvals.policy.rules import Asking, AtDeadline, Policy, Rule, Then
from approvals.policy.terms import Reason, Stage
from approvals.queries.policy.ruling import directory_of
from approvals.states import Priority
from approvals.text.text import visible
from approvals.text.translation import translated


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule in words."""

    rule: Rule
    words: str
    asking: Sequence[str]


@dataclass(frozen=True, slots=True)
class Fault:
    line: int
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is to become the policy: what is stored of it, or else its faults."""

    text: str
    document: Mapping[str, Any] | None
    stored: Mapping[str, Any] | None
    faults: Sequence[Fault] = ()

    @property
    def policy(self) -> Policy | None:
        return None if self.stored is None else policy_of(self.stored)


def draft_of(text: str) -> Draft:
    """Return what a text of anyone says."""
    document = None
    try:
        document = read_text(text)
        return Draft(text, document, stored_form(document, directory_of(document)))
    except InvalidPolicy as error:
        faults = [
            Fault(line_of(text, path) if document is not None else 0, path, translated(fault))
            for path, fault in error.faults.items()
        ]
        return Draft(text, document if isinstance(document, dict) else None, None, faults)


def rows_of(version: PolicyVersion | None) -> list[RuleRow]:
    """Return the rules of a version in words; none without one."""
    return [] if version is None else rows_of_document(version.document)


def rows_of_document(stored: Mapping[str, Any]) -> list[RuleRow]:
    names = _names_of(stored)
    return [RuleRow(rule, _words(rule), _asking(rule, names)) for rule in policy_of(stored).rules]


@dataclass(frozen=True, slots=True)
class _Names:
    people: Mapping[int, str]
    teams: Mapping[int, str]


def _names_of(stored: Mapping[str, Any]) -> _Names:
    ids = ids_in(stored)
    people = User.objects.filter(pk__in=any_of(ids.people, int)).values_list("pk", "username")
    teams = Group.objects.filter(pk__in=any_of(ids.teams, int)).values_list("pk", "name")
    return _Names(dict(people), dict(teams))


def _words(rule: Rule) -> str:
    sentences = {
        Then.ALLOW: _("Allows %(requests)s without asking."),
        Then.DENY: _("Denies %(requests)s without asking."),
        Then.ASK: _("Asks people about %(requests)s."),
    }
    return sentences[rule.then] % {"requests": requests_in_words(rule.match)}


def _asking(rule: Rule, names: _Names) -> list[str]:
    """Return how a rule asks, in sentences."""
    if rule.ask is None and rule.then != Then.ASK:
        return []
    asking = rule.ask or Asking()
    terms = asking.terms
    sentences = [_stage(stage, names) for stage in terms.stages]
    sentences += [_("The person who runs the agent may decide too.")] if asking.with_requester else []
    sentences += [_("One rejection ends it.")] if terms.veto else []
    sentences += [_("A rejection needs a message.")] if terms.reason == Reason.REJECTION else []
    sentences += [_("Every decision needs a message.")] if terms.reason == Reason.ALWAYS else []
    sentences += [_("The name of the tool has to be typed.")] if terms.typed_name else []
    sentences += [_("Whoever approves needs a fresh log-in.")] if terms.fresh_sign_in else []
    if asking.deadline is not None:
        sentences.append(_DEADLINES[asking.deadline.then]() % {"length": _time(asking.deadline.after)})
    if terms.reminders:
        times = ", ".join(_time(seconds) for seconds in terms.reminders)
        sentences.append(_("Reminds after %(times)s.") % {"times": times})
    sentences += [
        _("After %(length)s, also notifies %(names)s.")
        % {"length": _time(step.after), "names": _named(step.people, step.teams, names)}
        for step in terms.escalation
    ]
    if terms.working_hours and (terms.reminders or terms.escalation):
        sentences.append(_("Only working hours count for these."))
    if asking.priority:
        sentences.append(_("Priority at least: %(priority)s.") % {"priority": Priority(asking.priority).label})
    return sentences


_DEADLINES = {
    AtDeadline.REJECT: lambda: _("Rejected if no one decides within %(length)s."),
    AtDeadline.DEFAULT: lambda: _("Answered by its default if no one decides within %(length)s."),
    AtDeadline.HALT: lambda: _("Stops the run if no one decides within %(length)s."),
}


def _time(seconds: int) -> str:
    return translated(length(timedelta(seconds=seconds)))


def _stage(stage: Stage, names: _Names) -> str:
    groups = [
        _("%(number)s of %(names)s") % {"number": group.votes, "names": _named(group.people, group.teams, names)}
        for group in stage.groups
    ]
    joined = (_(" or ") if stage.any else _(" and ")).join(groups)
    return _("Has to be approved by %(groups)s.") % {"groups": joined}


def _named(people: Sequence[int], teams: Sequence[int], names: _Names) -> str:
    listed = [names.people.get(pk, f"#{pk}") for pk in people] + [names.teams.get(pk, f"#{pk}") for pk in teams]
    return visible(", ".join(listed)) or _("anyone who may decide")
